"""How the judge of a rehearsal world answers: by the truth, in the shape of any schema (DESIGN §3)."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillmake.llm.types import Message
from skillmake.rehearsal.students import CASE, chance, fill, plain, whole

if TYPE_CHECKING:
    from skillmake.rehearsal.world import World

GIVEN_LINE = re.compile(r"(?im)^\W*given answer\W*:[ \t]*(.+?)\s*$")
ADHERENCE = ("follow", "adher")
BLAME = ("defect",)
FAULTS = ("flaw", "missing", "gap", "fault", "bias", "wrong", "harm")


def judge(world: "World", messages: Sequence[Message], schema: Mapping[str, Any] | None) -> str:
    """See `World.judge`. A `Given answer:` line shows what the agent said, so also a lapse has its faults.
    The case under judgement is the one named most often, the last of equals."""
    from skillmake.rehearsal.trace_judge import has_calls, judge_trace, spans

    text = whole(messages)
    errs = chance("judge", world.config.seed, messages) < world.config.judge_error
    codes = [code for code in CASE.findall(text) if code in world.units]
    counts = Counter(codes)
    defect = wrong = False
    if codes:
        unit = world.units[max(reversed(codes), key=lambda code: counts[code])]
        harmed = any(world.harms(s, unit) for s in world.found(text, "harmful", unit.task_type))
        defect = harmed or bool((unit.needs or frozenset()) - world.found(text, "useful"))
        given = GIVEN_LINE.findall(text)
        wrong = given[-1] != unit.answer if given else defect
    wanted = schema or {"type": "object", "properties": {"defect": {"type": "boolean"}}}
    if not codes and has_calls(text):
        return judge_trace(text, wanted, errs)
    value = fill(wanted, wanted, lambda name, part: verdict(defect, wrong, errs, name, part))
    if "spans" in value:
        value["spans"] = spans(text, value["spans"][0], set())
    return json.dumps(value)


def verdict(defect: bool, wrong: bool, errs: bool, name: str, schema: Mapping[str, Any]) -> Any:
    """A judge's value for one leaf: the truth where the field asks for it, else the plainest value.

    `defect`: a text is to blame; `wrong`: the answer is wrong; `errs`: the opposite of the truth is told.
    """
    if "enum" in schema:
        return told(schema["enum"], defect != errs, wrong != errs)
    if schema.get("type") != "boolean":
        return plain(schema)
    lower = name.lower()
    if any(word in lower for word in ADHERENCE):
        # Who failed with a good text did not follow it
        return (defect or not wrong) != errs
    if any(word in lower for word in BLAME):
        return defect != errs
    return (wrong == any(word in lower for word in FAULTS)) != errs


def told(values: Sequence[Any], defect: bool, wrong: bool) -> Any:
    """The value of an enumeration that says defect or lapse, or that there is an error or none."""
    verdict = "defect" if defect else "lapse"
    if verdict in values:
        return verdict
    if "none" in values:
        return next(value for value in values if (value != "none") == wrong)
    return values[0]
