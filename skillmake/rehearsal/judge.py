"""How the judge of a rehearsal world answers: by the truth, in the shape of any schema (DESIGN §3)."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillmake.llm.types import Message
from skillmake.rehearsal.students import CASE, SYSTEM, chance, fill, plain, whole

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
    wanted = schema or {"type": "object", "properties": {"defect": {"type": "boolean"}}}
    if not codes and has_calls(text):
        return judge_trace(text, wanted, errs)
    view = seen(world, text, codes, errs)
    value = fill(wanted, wanted, lambda name, part: verdict(view, name, part))
    if "spans" in value:
        value["spans"] = spans(text, value["spans"][0], set())
    return json.dumps(value)


@dataclass(frozen=True)
class View:
    """How a judge sees a case: a text is to blame (`defect`), the answer is wrong; if it `errs`, the opposite
    of both is told. `blame`: the text that is told to be to blame.
    """

    defect: bool
    wrong: bool
    blame: str
    errs: bool


def seen(world: "World", text: str, codes: Sequence[str], errs: bool) -> View:
    """The view of the case that is named most often."""
    counts = Counter(codes)
    defect = wrong = False
    blame = "skill"
    if codes:
        unit = world.units[max(reversed(codes), key=lambda code: counts[code])]
        faults = world.harming(text, unit) | world.lacking(text, unit)
        defect = bool(faults)
        if faults and all(world.sentences[fault][1] == SYSTEM for fault in faults):
            blame = "system"
        given = GIVEN_LINE.findall(text)
        wrong = given[-1] != unit.answer if given else defect
    if errs and world.config.system_rules:
        blame = "skill" if blame == "system" else "system"
    return View(defect, wrong, blame, errs)


def verdict(view: View, name: str, schema: Mapping[str, Any]) -> Any:
    """A judge's value for one leaf: the truth where the field asks for it, else the plainest value."""
    if "enum" in schema:
        return told(schema["enum"], view)
    if schema.get("type") != "boolean":
        return plain(schema)
    lower = name.lower()
    if any(word in lower for word in ADHERENCE):
        # Who failed with a good text did not follow it
        return (view.defect or not view.wrong) != view.errs
    if any(word in lower for word in BLAME):
        return view.defect != view.errs
    return (view.wrong == any(word in lower for word in FAULTS)) != view.errs


def told(values: Sequence[Any], view: View) -> Any:
    """The value of an enumeration: defect or lapse, an error or none, the text to blame."""
    verdict = "defect" if view.defect != view.errs else "lapse"
    if verdict in values:
        return verdict
    if "none" in values:
        return next(value for value in values if (value != "none") == (view.wrong != view.errs))
    return view.blame if view.blame in values else values[0]
