"""Units, the atom of every count, split, batch and test (SPEC §2), and seeded order."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from skillmake.artifacts import canonical_line, sha256
from skillmake.errors import DataError
from skillmake.questions import Question

Item = TypeVar("Item")


@dataclass(frozen=True)
class Unit:
    """A single question or a twin pair; `questions` is sorted by id."""

    unit_id: str
    task_type: str
    questions: tuple[Question, ...]


def make_units(questions: Iterable[Question]) -> list[Unit]:
    """Questions grouped by `unit_id`, sorted by it; DataError if a unit has 3 members or 2 task types."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.unit_id, []).append(question)
    return [_unit(unit_id, groups[unit_id]) for unit_id in sorted(groups)]


def _unit(unit_id: str, members: list[Question]) -> Unit:
    members = sorted(members, key=lambda question: question.question_id)
    ids = ", ".join(question.question_id for question in members)
    types = sorted({question.task_type for question in members})
    if len(members) > 2 or len(types) > 1:
        what = f"{len(members)} questions" if len(members) > 2 else f"task types {', '.join(types)}"
        raise DataError(
            f"unit {unit_id} has {what}: {ids}", "a unit is one question or a pair of one task type"
        )
    return Unit(unit_id, types[0], tuple(members))


def unit_right(unit: Unit, right: Mapping[str, bool | None]) -> bool | None:
    """Whether every question of the unit is right (SPEC §2); `right` is by question id.

    A wrong member decides alone; else a member that is missing or None (an error) makes the unit None.
    """
    outcomes = [right.get(question.question_id) for question in unit.questions]
    if any(outcome is False for outcome in outcomes):
        return False
    return None if None in outcomes else True


def share_right(draws: Sequence[bool | None]) -> float | None:
    """Share of a unit's draws that are right; None where one ended in an error."""
    return None if None in draws else sum(map(bool, draws)) / len(draws)


def seeded(*parts: Any) -> random.Random:
    """A generator that depends on the JSON-like `parts` (purpose, seed, …) and on nothing else."""
    return random.Random(int(sha256(canonical_line(list(parts))), 16))


def seeded_shuffle(items: Iterable[Item], key: Callable[[Item], str], *parts: Any) -> list[Item]:
    """The items in an order that depends on their keys and `parts`, not on the order they came in."""
    order = sorted(items, key=key)
    seeded(*parts).shuffle(order)
    return order
