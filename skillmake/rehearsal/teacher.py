"""How the teacher of a rehearsal world answers: edits, rankings, guidance and prompts (DESIGN §3).

Each answer is a pure function of the world and the messages.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillmake.llm.types import Message
from skillmake.rehearsal.students import (
    CASE,
    SYSTEM,
    chance,
    content,
    fill,
    pick,
    plain,
    shuffled,
    type_of,
    whole,
)

if TYPE_CHECKING:
    from skillmake.rehearsal.world import SentenceKind, Unit, World

WRONG = re.compile(r"- (?:id \S+ \(WRONG\)|regressed:|persistent fail:)")
LINES = re.compile(r"at most (\d+) lines")
LISTED = re.compile(r"(?m)^(\d+)\. (?:add|replace|delete|example): ")


def teach(
    world: "World", messages: Sequence[Message], schema: Mapping[str, Any] | None = None
) -> tuple[str, str]:
    """See `World.teach`; returns the text and its finish reason."""
    from skillmake.rehearsal.habits import TOOL, habits, system_text, tool_texts

    is_system = world.config.system_rules > 0 and "system" in (schema or {}).get("properties", {})
    edits = proposals(world, messages, is_system=is_system) or habits(world, messages)
    if schema is not None and set(schema.get("properties", {})) == set(TOOL):
        text = json.dumps(tool_texts(world, messages))
    elif schema is not None and set(schema.get("properties", {})) == {"system"} and not edits:
        text = json.dumps({"system": system_text(world, messages)})
    elif schema is None or "edits" in schema.get("properties", {}):
        text = json.dumps({"edits": edits})
    elif "order" in schema.get("properties", {}):
        text = json.dumps({"order": ranking(world, messages)})
    else:
        text = json.dumps(
            fill(schema, schema, lambda name, part: guidance(world, messages, edits, name, part))
        )
    draw = chance("defect", world.config.seed, messages)
    if draw < world.config.teacher_defect / 2:
        return text[: len(text) * 2 // 3], "length"
    if draw < world.config.teacher_defect:
        return f"Here is my answer:\n{text[:-1]},", "stop"
    return text, "stop"


def ranking(world: "World", messages: Sequence[Message]) -> list[int]:
    """Numbers of the listed edits in an order that says nothing about their worth."""
    numbers = [int(number) for number in LISTED.findall(content(messages[0]))]
    return shuffled(numbers, "rank", world.config.seed, messages)


def guidance(
    world: "World",
    messages: Sequence[Message],
    edits: Sequence[Mapping[str, Any]],
    name: str,
    schema: Mapping[str, Any],
) -> Any:
    """A teacher's value for a leaf: the rules written anew for `skill`, the prompt with as many new lines as
    are allowed for `system`, one new sentence for another text, behind the earlier ones if it is attentive.
    """
    if schema.get("type") != "string" or "enum" in schema:
        return plain(schema)
    text, new = whole(messages), [str(edit["text"]) for edit in edits]
    if name == "skill":
        shown = re.split(r"(?i)reject", text)[0]
        kept = [sentence for sentence in world.sentences if sentence in shown]
        return "## Rules\n" + "".join(f"- {sentence}\n" for sentence in dict.fromkeys([*kept, *new]))
    if name == "system" and world.config.system_rules:
        allowed = LINES.search(text)
        return "\n".join([part(text, "The system prompt now"), *new[: int(allowed[1]) if allowed else 1]])
    earlier = part(text, "Your guidance of earlier epochs") if world.config.attentive else ""
    return "\n".join(filter(None, [earlier, *new[:1]]))


def part(text: str, heading: str) -> str:
    """What stands in a request under the heading that begins like this."""
    found = re.search(rf"(?ms)^# {heading}[^\n]*\n(.*?)(?=^# |\Z)", text)
    return found[1].strip() if found else ""


def proposals(world: "World", messages: Sequence[Message], is_system: bool = False) -> list[dict[str, Any]]:
    """One to three edits of one new sentence each; none where the request names no task type.

    `is_system`: for the system prompt, whatever types the cases are of.
    """
    text = whole(messages)
    owner = SYSTEM if is_system else type_of(world, text)
    if owner is None:
        return []
    cases = units_in(world, text)
    edits: list[dict[str, Any]] = []
    for number in range(1 + int(chance("edits", world.config.seed, messages) * 3)):
        # Whatever stands in the request is in the skill already or was rejected before
        known = text + "".join(edit["text"] for edit in edits)
        sentence = propose(world, owner, text, known, (messages, number))
        if sentence is None:
            continue
        needy = [unit for unit in cases if sentence in (unit.needs or ())]
        support = needy or cases[:2]
        edits.append(
            {
                "op": "add",
                "anchor": "",
                "section": "Rules",
                "text": sentence,
                "answer": "",
                "reason": "Seen in " + (", ".join(unit.unit_id for unit in support) or "no case of the pack"),
                "support": [qid for unit in support for qid in question_ids(unit, text)],
            }
        )
    return edits


def propose(world: "World", owner: str, text: str, known: str, key: Any) -> str | None:
    """A sentence of the owner that is not in `known`; useful ones by preference what cases of `text` need.

    An attentive teacher finds a useful one only in what it has looked at: one case that went wrong.
    """
    kinds: tuple[SentenceKind, ...] = ("useful", "harmful", "useless")
    config = world.config
    draw = chance("kind", config.seed, key)
    kind = kinds[int(draw >= config.useful_share) + int(draw >= config.useful_share + config.harmful_share)]
    cases = units_in(world, text)
    if config.attentive:
        wrong = failing(world, text)
        cases = [pick(wrong, "case", config.seed, key)] if wrong else []
    pool = world.pool(owner, kind, known)
    needed = [rule for unit in cases for rule in sorted(unit.needs or ()) if rule in pool]
    if config.attentive and kind == "useful":
        pool = needed
    pool = pool or world.pool(owner, "useless", known)
    return pick(needed or pool, "sentence", config.seed, key) if pool else None


def failing(world: "World", text: str) -> "list[Unit]":
    """Units of the cases that a request shows as wrong, and not as lapses."""
    entries = re.split(r"(?m)^(?=- |# )", text)
    wrong = [entry for entry in entries if WRONG.match(entry) and "Judged: LAPSE" not in entry]
    return [unit for entry in wrong for unit in units_in(world, entry)[:1]]


def units_in(world: "World", text: str) -> "list[Unit]":
    """Units of the cases in a text, each once, in their order."""
    return [unit for code in dict.fromkeys(CASE.findall(text)) if (unit := world.units.get(code))]


def question_ids(unit: "Unit", text: str) -> list[str]:
    """Ids of the unit's questions that the text names, else of all."""
    ids = [str(question["question_id"]) for question in unit.questions]
    return [qid for qid in ids if qid in text] or ids
