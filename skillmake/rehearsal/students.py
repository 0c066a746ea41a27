"""How the student of a rehearsal world answers, and what it shares with teacher and judge (DESIGN §3).

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
    from skillmake.rehearsal.world import Unit, World

T = TypeVar("T")
SYSTEM = "system prompt"  # the owner of the rules that hold for cases of every type
CANONICAL = json.JSONEncoder(sort_keys=True).encode
CASE = re.compile(r"\[case ([a-z0-9]{5})\]")
TYPE_LINE = re.compile(r"(?im)^\W*task type\W+(.+?)\W*$")
ANSWER_LINE = re.compile(r"(?im)^\W*(?:answer|assistant|label|a)\W*:\W*(.+)$")
OPTION_LINE = re.compile(r"(?m)^\W*([A-H]|\d)\W+(.+?)\s*$")


def chance(*parts: Any) -> float:
    """Uniform number in [0, 1) that follows from the parts alone."""
    return int.from_bytes(sha256(CANONICAL(parts).encode()).digest()[:6]) / 2**48


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


def type_of(world: "World", text: str) -> str | None:
    """The task type of most cases in the text, else the one on its `Task type:` line."""
    counts = Counter(world.units[code].task_type for code in CASE.findall(text) if code in world.units)
    if counts:
        return min(counts, key=lambda name: (-counts[name], name))
    names = {task_type.name for task_type in world.types}
    return next((name for line in TYPE_LINE.findall(text) if (name := line.lower()) in names), None)


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
