"""Answers to questions of any file, also of one without the right answers (SPEC §8, infer)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillmake.agent.loop import Prediction
from skillmake.errors import DataError
from skillmake.questions import Question, did_you_mean, parse_json, parse_questions

UNKNOWN = "unknown"  # stands for the right answer where it is not known; nothing is held against it


@dataclass(frozen=True)
class Asked:
    """Questions in the order of their file, and the ids of those that say what the right answer is."""

    questions: tuple[Question, ...]
    labelled: frozenset[str]


def load_asked(path: Path, types: Sequence[str] | None = None, first: int | None = None) -> Asked:
    """Questions of a JSONL file whose `answer` may be missing: of `types` only, the `first` units of them.

    Raises DataError with every problem of the file, and for a type or a file without questions.
    """
    lines, ids, labelled = [], list[str](), set[str]()
    for line in path.read_bytes().split(b"\n"):
        value = _value(line)
        if "question_id" in value:
            ids.append(str(value["question_id"]))
            if "answer" in value:
                labelled.add(ids[-1])
            else:
                options = value.get("options")
                value["answer"] = options[0] if isinstance(options, list) and options else UNKNOWN
                line = json.dumps(value).encode()
        lines.append(line)
    found = {question.question_id: question for question in parse_questions(lines, str(path))}
    questions = _first_units(_of_types([found[each] for each in ids], types, path), first)
    return Asked(questions, frozenset(labelled & {question.question_id for question in questions}))


def _value(line: bytes) -> dict[str, Any]:
    """The object in a line; what is none is left to the check of the whole file."""
    try:
        value = parse_json(line.decode().removeprefix("\ufeff"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _of_types(questions: Sequence[Question], types: Sequence[str] | None, path: Path) -> list[Question]:
    known = sorted({question.task_type for question in questions})
    for name in types or ():
        if name not in known:
            raise DataError(
                f"modes.types: {path} has no task type {name!r}.{did_you_mean(name, known)}",
                f"it has {', '.join(known)}",
            )
    return [question for question in questions if types is None or question.task_type in types]


def _first_units(questions: Sequence[Question], first: int | None) -> tuple[Question, ...]:
    units = list(dict.fromkeys(question.unit_id for question in questions))[:first]
    return tuple(question for question in questions if question.unit_id in units)


def predictions(asked: Asked, rows: Sequence[Prediction]) -> list[dict[str, Any]]:
    """One row per question, in the order of the file; `right` is null where the answer is not known."""
    by_id = {row.question_id: row for row in ungraded(asked, rows)}
    kept = ("question_id", "unit_id", "task_type", "prediction", "right", "stop_reason", "error")
    return [by_id[question.question_id].model_dump(include=set(kept)) for question in asked.questions]


def ungraded(asked: Asked, rows: Iterable[Prediction]) -> list[Prediction]:
    """The rollouts, with no outcome where the right answer is not known."""
    return [
        row if row.question_id in asked.labelled else row.model_copy(update={"right": None}) for row in rows
    ]


def summary(asked: Asked, rows: Sequence[Mapping[str, Any]]) -> str:
    """A progress line."""
    failed = sum(row["stop_reason"] == "error" for row in rows)
    graded = [row["right"] for row in rows if row["right"] is not None]
    parts = [f"{len(rows)} questions answered"]
    if graded:
        parts.append(f"{sum(graded)} of {len(graded)} right ({sum(graded) / len(graded):.3f})")
    if unknown := len(rows) - len(asked.labelled):
        parts.append(f"{unknown} without a known answer")
    return ", ".join(parts) + (f", {failed} errors" if failed else "")
