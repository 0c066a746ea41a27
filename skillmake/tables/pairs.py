"""The table `quadrant_pairs`: what two texts make of the same unit."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from pydantic import Field

from skillmake.agent.loop import Prediction
from skillmake.gate import EvidenceRow
from skillmake.tables.columns import Change, Epoch, Row, Step, TaskType, UnitId
from skillmake.tables.record import EndRecord, RunRecord
from skillmake.units import Unit, unit_right

Compared = Literal["gate", "validation", "momentum", "momentum_gate", "validation2", "final_test"]


class QuadrantRow(Row):
    """One unit under two texts. A pair of questions counts as one unit, right only if both are."""

    compared: Compared = Field(
        description="`gate`: current skill and candidate; `validation`: last validation before the epoch and "
        "R; `momentum`: the epoch's first texts and its last; `momentum_gate`: these, and with guidance; "
        "`validation2`: R and R2; `final_test`: seed and delivered."
    )
    epoch: Epoch
    step: Step
    task_type: TaskType
    unit_id: UnitId
    before: float | None = Field(description="Share of draws right before; empty after an error.")
    after: float | None = Field(description="Share of draws right after; empty after an error.")
    change: Change = Field(
        description="`improved`, `regressed`, `stable_success` (as good, half of the draws right at least), "
        "`persistent_fail` (as good, fewer right) or `error`."
    )


def quadrant_rows(record: RunRecord) -> Iterator[QuadrantRow]:
    """Rows of the table `quadrant_pairs`, in order of time; units in order of id."""
    for epoch in range(1, max((step.epoch for step in record.steps), default=0) + 1):
        for step in record.steps:
            for gate in step.gates if step.epoch == epoch else ():
                if gate.decision is not None:
                    pairs = _evidence(gate.decision.evidence)
                    yield from _rows("gate", epoch, step.step, pairs, gate.task_type)
        for end in record.ends:
            if end.epoch == epoch:
                yield from _of_end(record, end)
    if record.test is not None:
        sides = [
            outcomes_of(record.benchmark.test, rows) for rows in (record.baseline.rows, record.test.rows)
        ]
        yield from _rows("final_test", len(record.ends), None, _joined(*sides), record.benchmark.units)


def outcomes_of(units: Iterable[Unit], rows: Iterable[Prediction]) -> dict[str, bool | None]:
    """Outcome of each unit of which `rows` holds a question; None after an error."""
    right = {row.question_id: row.right for row in rows if row.replicate == 0}
    return {
        unit.unit_id: unit_right(unit, right)
        for unit in units
        if any(question.question_id in right for question in unit.questions)
    }


def change(before: float | None, after: float | None) -> Change:
    """The quadrant of a unit; shares of draws that were right, None after an error."""
    if before is None or after is None:
        return "error"
    if before != after:
        return "improved" if after > before else "regressed"
    return "stable_success" if after >= 0.5 else "persistent_fail"


Pairs = Mapping[str, tuple[float | None, float | None]]


def _of_end(record: RunRecord, end: EndRecord) -> Iterator[QuadrantRow]:
    units, validation = record.benchmark.units, record.benchmark.validation
    _, measured = record.measured_before(end.epoch)
    known, first = (outcomes_of(validation, rows) for rows in (measured, end.validation.rows))
    yield from _rows("validation", end.epoch, None, _joined(known, first), units)
    half = len(end.momentum.rows) // 2
    sides = (end.momentum.rows[:half], end.momentum.rows[half:])
    before, after = (outcomes_of(record.benchmark.diagnosis, rows) for rows in sides)
    yield from _rows("momentum", end.epoch, None, _joined(before, after), units)
    for check in end.momentum.checks:
        pairs = _evidence(check.check.evidence)
        yield from _rows("momentum_gate", end.epoch, None, pairs, check.task_type)
    if (second := end.second.slow_candidate) is not None:
        again = outcomes_of(validation, second.rows)
        yield from _rows("validation2", end.epoch, None, _joined(first, again), units)


def _evidence(evidence: Iterable[EvidenceRow]) -> Pairs:
    return {row.unit_id: (row.baseline, row.candidate) for row in evidence}


def _joined(before: Mapping[str, bool | None], after: Mapping[str, bool | None]) -> Pairs:
    return {unit: (_share(before[unit]), _share(after[unit])) for unit in before.keys() & after.keys()}


def _share(right: bool | None) -> float | None:
    return None if right is None else float(right)


def _rows(
    compared: Compared, epoch: int, step: int | None, pairs: Pairs, types: Mapping[str, Unit] | str
) -> Iterator[QuadrantRow]:
    """Rows of one comparison; `types`: units by id, or the one task type of all."""
    for unit_id, (before, after) in sorted(pairs.items()):
        yield QuadrantRow(
            compared=compared,
            epoch=epoch,
            step=step,
            task_type=types if isinstance(types, str) else types[unit_id].task_type,
            unit_id=unit_id,
            before=before,
            after=after,
            change=change(before, after),
        )
