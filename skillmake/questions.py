"""Questions of a benchmark: one checked model per question, one friendly report per file (SPEC §2)."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator
from rapidfuzz import fuzz, process

from skillmake.artifacts import Artifact, write_jsonl
from skillmake.errors import DataError

MOST_SHOWN = 20
LONGEST_SLUG = 64  # the most the Agent Skills format allows for a name


class Question(Artifact):
    """One question (SPEC §2). `unit_id` is the question's own id, or that of its twin pair."""

    question_id: str
    task_type: str
    question: str
    options: tuple[str, ...] | None = None
    answer: str
    unit_id: str = ""
    video_id: str | None = None
    context: str | None = None
    scope: dict[str, JsonValue] = Field(default_factory=dict)
    meta: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _single_is_its_own_unit(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("unit_id") is None and "question_id" in value:
            return {**value, "unit_id": value["question_id"]}
        return value

    @field_validator("question_id", "unit_id")
    @classmethod
    def _id(cls, value: str) -> str:
        if not value:
            raise ValueError("an id must not be empty")
        if value.isprintable() and " " not in value:
            return value
        if any(sign.isspace() or unicodedata.category(sign) in ("Cc", "Cf") for sign in value):
            raise ValueError("an id must not contain white space or control characters")
        return value

    @field_validator("task_type", "question", "answer", "video_id", "context")
    @classmethod
    def _text(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("must not be empty")
        return value

    @field_validator("options")
    @classmethod
    def _distinct(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is None:
            return None
        stripped = [option.strip() for option in value]
        if len(value) < 2:
            raise ValueError("needs at least two options")
        if not all(stripped):
            raise ValueError("an option must not be empty")
        if len(set(stripped)) < len(stripped):
            raise ValueError("options must be distinct")
        return value

    @model_validator(mode="after")
    def _answer_is_an_option(self) -> "Question":
        if self.options is not None and self.answer not in self.options:
            raise ValueError(f"answer {_short(self.answer)} is not among the options {_short(self.options)}")
        return self


def slug(task_type: str) -> str:
    """Name of a task type's skill directory: lower-case `[a-z0-9-]` (SPEC §2); DataError if none is left."""
    plain = unicodedata.normalize("NFKD", task_type).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not name or len(name) > LONGEST_SLUG:
        what = f"is longer than {LONGEST_SLUG} characters" if name else "has no Latin letter or digit"
        raise DataError(
            f"task type {_short(task_type)} cannot name a skill directory: it {what}", "rename the task type"
        )
    return name


def load_questions(path: str | Path) -> list[Question]:
    """Questions of a JSONL file, sorted by id; one DataError lists every problem with its line."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        todo = "make it with `skillmake import` or `import-tree`, or correct data.questions"
        raise DataError(f"{path}: no such file", todo) from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}", "check data.questions") from None
    return parse_questions(data, str(path))


def dump_questions(path: str | Path, questions: Iterable[Question]) -> None:
    """Write canonical JSONL, sorted by id."""
    write_jsonl(path, sorted(questions, key=lambda question: question.question_id))


def parse_questions(data: bytes | Iterable[str | bytes], name: str) -> list[Question]:
    """Questions of JSONL bytes or lines, sorted by id; `name` is what the DataError calls them."""
    found = _Found()
    lines = data.split(b"\n") if isinstance(data, bytes) else data
    for number, line in enumerate(lines, 1):
        _parse_line(line, number, found)
    if not found.rows and not found.problems:
        raise DataError(f"{name}: holds no question", "give one JSON object per line")
    return check_questions(found.rows, found.problems, found.claimed, name)


@dataclass
class _Found:
    """What the lines of a file gave: questions, problems, and the units of lines that gave no question
    (None: unknown), which must not make a sound twin look alone."""

    rows: list[tuple[str, Question]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    claimed: set[str | None] = field(default_factory=set)


def _parse_line(line: str | bytes, number: int, found: _Found) -> None:
    place = f"line {number}"
    try:
        text = line.decode() if isinstance(line, bytes) else line
        text = text.removeprefix("\ufeff") if number == 1 else text
        if not text.strip():
            return
        value = parse_json(text)
    except UnicodeDecodeError as error:
        found.problems.append(f"{place}: not UTF-8 (byte {error.start + 1} of the line)")
    except ValueError as error:
        found.problems.append(f"{place}: not valid JSON: {error}")
    else:
        _parse_value(value, place, found)
        return
    found.claimed.add(None)


def _parse_value(value: Any, place: str, found: _Found) -> None:
    if not isinstance(value, dict):
        found.problems.append(f"{place}: expected a JSON object, got {_short(value)}")
        found.claimed.add(None)
        return
    question, problems = make_question(value)
    if question is not None:
        found.rows.append((place, question))
        return
    found.problems += [f"{place}: {problem}" for problem in problems]
    unit = value.get("unit_id")
    found.claimed.add(unit if isinstance(unit, str) else None)


def make_question(value: Mapping[str, Any]) -> tuple[Question | None, list[str]]:
    """A question, or what is wrong with `value`: one text per problem."""
    try:
        return Question.model_validate(dict(value)), []
    except ValidationError as error:
        return None, [_explain(problem) for problem in error.errors()]


def check_questions(
    rows: Sequence[tuple[str, Question]], problems: Sequence[str], claimed: Iterable[str | None], name: str
) -> list[Question]:
    """The questions sorted by id, if they fit together; else a DataError: `problems` and the new ones.

    rows: (place, question); claimed: units of places that gave no question (None: unknown unit).
    """
    first: dict[str, tuple[str, Question]] = {}
    found = list(problems)
    for place, question in rows:
        if question.question_id in first:
            other = first[question.question_id][0]
            found.append(f"{place}: question_id {question.question_id} is already used on {other}")
        else:
            first[question.question_id] = (place, question)
    found += _unit_problems(first, set(claimed)) + _slug_problems(first)
    if found:
        _fail(found, name)
    return [first[key][1] for key in sorted(first)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean …?` with the closest known word, or nothing."""
    found = closest(word, known)
    return f" Did you mean `{found}`?" if found else ""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, if any is at all."""
    found = process.extractOne(word, sorted(known), scorer=fuzz.ratio, score_cutoff=50)
    return found[0] if found else None


def _unit_problems(first: Mapping[str, tuple[str, Question]], claimed: set[str | None]) -> list[str]:
    units: dict[str, list[tuple[str, Question]]] = {}
    for place, question in first.values():
        units.setdefault(question.unit_id, []).append((place, question))
    out = []
    for unit_id, members in units.items():
        places = ", ".join(f"{question.question_id} ({place})" for place, question in members)
        owns = any(question.question_id == unit_id for _, question in members)
        types = sorted({question.task_type for _, question in members})
        if unit_id in first and (not owns or len(members) > 1):
            place = first[unit_id][0]
            out.append(f"{place}: question_id {unit_id} is also the unit_id of a pair: {places}")
        if not owns and len(members) == 1 and not claimed & {None, unit_id}:
            out.append(f"{members[0][0]}: pair {unit_id} has one member only: {places}")
        if len(members) > 2:
            out.append(f"{members[2][0]}: unit {unit_id} has {len(members)} members, at most 2: {places}")
        if len(types) > 1:
            out.append(f"{members[1][0]}: pair {unit_id} is across task types {', '.join(types)}: {places}")
    return out


def _slug_problems(first: Mapping[str, tuple[str, Question]]) -> list[str]:
    places: dict[str, str] = {}
    for place, question in first.values():
        places.setdefault(question.task_type, place)
    out, owner = [], dict[str, str]()
    for task_type, place in places.items():
        try:
            name = slug(task_type)
        except DataError as error:
            out.append(f"{place}: {error.message}")
            continue
        other = owner.setdefault(name, task_type)
        if other != task_type:
            out.append(
                f"{place}: task types {_short(other)} ({places[other]}) and {_short(task_type)} "
                f"share the skill directory {name}"
            )
    return out


def _fail(problems: Sequence[str], name: str) -> NoReturn:
    shown = [f"{name}: {problem}" for problem in problems[:MOST_SHOWN]]
    if len(problems) > MOST_SHOWN:
        shown.append(f"and {len(problems) - MOST_SHOWN} more")
    raise DataError("\n".join(shown), "correct these places and run again")


def _explain(problem: Any) -> str:
    path = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key `{path}`.{did_you_mean(path, Question.model_fields)}"
    if problem["type"] == "missing":
        return f"missing key `{path}`"
    message = problem["msg"].removeprefix("Value error, ")
    return f"`{path}`: {message}, got {_short(problem['input'])}" if path else message


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:200]}…"


def parse_json(text: str, *, finite: bool = True) -> Any:
    """The value of a JSON text that any JSON reader can hold; ValueError says what is wrong with it.

    Python alone would let NaN, infinite numbers, repeated keys and half surrogate pairs through. `finite`:
    whether such numbers are refused.
    """
    try:
        value = json.loads(
            text,
            parse_constant=_not_json if finite else float,
            parse_float=_finite if finite else float,
            object_pairs_hook=_no_key_twice,
        )
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a text holds half of a surrogate pair") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _not_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) != float("inf") else _not_json(text)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} is given twice")
    return value
