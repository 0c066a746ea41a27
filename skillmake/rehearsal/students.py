"""How student and teacher of a rehearsal world answer, and what they share with its judge (DESIGN §3).

Each answer is a pure function of the world and the messages. The student reads rules from the system text and
worked examples from it and from earlier chat turns; a case is known by its code, as in `[case k7f3q]`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from skillmake.llm.types import Message

if TYPE_CHECKING:
    from skillmake.rehearsal.world import SentenceKind, Unit, World

T = TypeVar("T")
CASE = re.compile(r"\[case ([a-z0-9]{5})\]")
TYPE_LINE = re.compile(r"(?im)^\W*task type\W+(.+?)\W*$")
ANSWER_LINE = re.compile(r"(?im)^\W*(?:answer|assistant|label|a)\W*:\W*(.+)$")
LISTED = re.compile(r"(?m)^(\d+)\. (?:add|replace|delete|example): ")
OPTION_LINE = re.compile(r"(?m)^\W*([A-H]|\d)\W+(.+?)\s*$")


def chance(*parts: Any) -> float:
    """Uniform number in [0, 1) that follows from the parts alone."""
    return int.from_bytes(sha256(json.dumps(parts, sort_keys=True).encode()).digest()[:6]) / 2**48


def words(text: str) -> list[str]:
    """The parts of a comma-separated list."""
    return text.split(", ")


def pick(items: Sequence[T], *parts: Any) -> T:
    """One item, as the parts decide."""
    return items[int(chance(*parts) * len(items))]


def shuffled(items: Sequence[T], *parts: Any) -> list[T]:
    """The different items in an order that the parts decide, whatever order they came in."""
    return sorted(items, key=lambda item: (chance(*parts, item), str(item)))


def content(message: Message) -> str:
    """Text of a message, joined where it comes in parts."""
    value = message.get("content") or ""
    if isinstance(value, str):
        return value
    return "\n".join(str(part.get("text", "")) for part in value if isinstance(part, dict))


def whole(messages: Sequence[Message]) -> str:
    """All texts of a request."""
    return "\n".join(content(message) for message in messages)


def option_in(unit: "Unit", text: str) -> str | None:
    """The option of the unit that a text names last, in words or by the label it has in an option list."""
    places = {option: text.rfind(option) for option in unit.options}
    best = max(unit.options, key=lambda option: places[option])
    lines = ANSWER_LINE.findall(text)
    if not lines:
        return best if places[best] >= 0 else None
    named = [option for option in unit.options if option in lines[-1]]
    return named[0] if named else labels(unit, text).get(lines[-1].strip(" .()*`\"'").upper())


def labels(unit: "Unit", text: str) -> dict[str, str]:
    """Option by label (`A`, `2`), as the text lists them."""
    return {label: rest for label, rest in OPTION_LINE.findall(text) if rest in unit.options}


def taught_by_text(world: "World", text: str, but: str = "") -> frozenset[str]:
    """Rules taught by worked examples written in a text: a case code, and after it the right answer."""
    parts = CASE.split(text)
    return frozenset(
        rule
        for code, segment in zip(parts[1::2], parts[2::2], strict=True)
        if code != but and (unit := world.units.get(code)) and option_in(unit, segment) == unit.answer
        for rule in taught_by(unit)
    )


def taught_by_turns(world: "World", turns: Sequence[Message], but: str = "") -> frozenset[str]:
    """Rules taught by chat turns: a user's case, answered right by the assistant's next turn."""
    rules: set[str] = set()
    for user, assistant in pairwise(turns):
        codes = CASE.findall(content(user))
        if (
            (user.get("role"), assistant.get("role")) != ("user", "assistant")
            or not codes
            or codes[-1] == but
        ):
            continue
        unit = world.units.get(codes[-1])
        if unit and option_in(unit, f"{content(user)}\nAnswer: {content(assistant)}") == unit.answer:
            rules |= taught_by(unit)
    return frozenset(rules)


def taught_by(unit: "Unit") -> frozenset[str]:
    """The one rule that a worked example of this unit teaches, if it needs any."""
    return frozenset(shuffled(sorted(unit.needs or ()), "teaches", unit.unit_id)[:1])


def asked(world: "World", messages: Sequence[Message]) -> tuple["Unit | None", int]:
    """The unit of the last case in a user message, and the place of that message."""
    for place in range(len(messages) - 1, -1, -1):
        codes = CASE.findall(content(messages[place])) if messages[place].get("role") == "user" else []
        if codes and codes[-1] in world.units:
            return world.units[codes[-1]], place
    return None, len(messages) - 1


def answer(world: "World", messages: Sequence[Message], temperature: float, replicate: int) -> str:
    """See `World.answer`. Churn is drawn per unit and skill text, noise per question, text and replicate."""
    unit, place = asked(world, messages)
    if unit is None:
        return ""
    system = whole([m for m in messages if m.get("role") in ("system", "developer")])
    turns = [m for m in messages[:place] if m.get("role") in ("user", "assistant")]
    taught = taught_by_text(world, system, unit.code) | taught_by_turns(world, turns, unit.code)
    right = world.is_right(unit, system, taught)
    text = [system, [content(m) for m in turns]]
    # Two texts differ where exactly one of them flips: 2f(1-f) = churn
    flip = (1 - (1 - 2 * world.config.churn) ** 0.5) / 2
    if chance("churn", world.config.seed, text, unit.unit_id) < flip:
        right = not right
    draw = ("noise", world.config.seed, text, content(messages[place]), replicate)
    if temperature > 0 and chance(*draw) < world.config.noise:
        right = not right
    wrong = [option for option in unit.options if option != unit.answer]
    return unit.answer if right else pick(sorted(wrong), "wrong", world.config.seed, unit.unit_id)


def teach(
    world: "World", messages: Sequence[Message], schema: Mapping[str, Any] | None = None
) -> tuple[str, str]:
    """See `World.teach`; returns the text and its finish reason."""
    from skillmake.rehearsal.habits import TOOL, habits, system_text, tool_texts

    edits = proposals(world, messages) or habits(world, messages)
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
    """A teacher's value for a leaf: the rules written anew for `skill`, one new sentence for another text."""
    if schema.get("type") != "string" or "enum" in schema:
        return plain(schema)
    new = [str(edit["text"]) for edit in edits]
    if name != "skill":
        return "".join(new[:1])
    shown = re.split(r"(?i)reject", whole(messages))[0]
    kept = [sentence for sentence in world.sentences if sentence in shown]
    return "## Rules\n" + "".join(f"- {sentence}\n" for sentence in dict.fromkeys([*kept, *new]))


def proposals(world: "World", messages: Sequence[Message]) -> list[dict[str, Any]]:
    """One to three edits of one new sentence each; none where the request names no task type."""
    text = whole(messages)
    task_type = type_of(world, text)
    if task_type is None:
        return []
    cases = [unit for code in dict.fromkeys(CASE.findall(text)) if (unit := world.units.get(code))]
    edits: list[dict[str, Any]] = []
    for number in range(1 + int(chance("edits", world.config.seed, messages) * 3)):
        # Whatever stands in the request is in the skill already or was rejected before
        known = text + "".join(edit["text"] for edit in edits)
        sentence = propose(world, task_type, cases, known, (messages, number))
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


def propose(world: "World", task_type: str, cases: "Sequence[Unit]", known: str, key: Any) -> str | None:
    """A sentence of the type that is not in `known`; useful ones by preference what failing cases need."""
    kinds: tuple[SentenceKind, ...] = ("useful", "harmful", "useless")
    config = world.config
    draw = chance("kind", config.seed, key)
    kind = kinds[int(draw >= config.useful_share) + int(draw >= config.useful_share + config.harmful_share)]
    pool = world.pool(task_type, kind, known) or world.pool(task_type, "useless", known)
    needed = [rule for unit in cases for rule in sorted(unit.needs or ()) if rule in pool]
    return pick(needed or pool, "sentence", config.seed, key) if pool else None


def type_of(world: "World", text: str) -> str | None:
    """The task type of most cases in the text, else the one on its `Task type:` line."""
    counts = Counter(world.units[code].task_type for code in CASE.findall(text) if code in world.units)
    if counts:
        return min(counts, key=lambda name: (-counts[name], name))
    names = {task_type.name for task_type in world.types}
    return next((name for line in TYPE_LINE.findall(text) if (name := line.lower()) in names), None)


def question_ids(unit: "Unit", text: str) -> list[str]:
    """Ids of the unit's questions that the text names, else of all."""
    ids = [str(question["question_id"]) for question in unit.questions]
    return [qid for qid in ids if qid in text] or ids


def plain(schema: Mapping[str, Any]) -> Any:
    """The plainest value of a schema without parts."""
    if "enum" in schema:
        return schema["enum"][0]
    low = schema.get("minimum")
    values = {"boolean": False, "integer": low or 0, "number": 0.5 if low is None else max(low, 0.5)}
    return values.get(str(schema.get("type")), "x" * int(schema.get("minLength", 0)))


def fill(
    root: Mapping[str, Any],
    schema: Mapping[str, Any],
    leaf: Callable[[str, Mapping[str, Any]], Any],
    name: str = "",
) -> Any:
    """A JSON value of a schema: every property, one item per list of objects, leaves as `leaf` decides."""
    if "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target[step]
        return fill(root, target, leaf, name)
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return fill(root, schema[union][0], leaf, name)
    if "const" in schema:
        return schema["const"]
    if schema.get("type") == "object" or "properties" in schema:
        return {key: fill(root, part, leaf, key) for key, part in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        items = schema.get("items", {})
        count = max(int(schema.get("minItems", 0)), int("$ref" in items or items.get("type") == "object"))
        return [fill(root, items, leaf, name) for _ in range(count)]
    return None if schema.get("type") == "null" else leaf(name, schema)
