"""The table `shadow_gate`: what other rules would have decided, and what full validation said afterwards."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from skillmake.agent.loop import Prediction
from skillmake.artifacts import sha256
from skillmake.gate import Action
from skillmake.rehearsal.world import World
from skillmake.settle import GateResult
from skillmake.state import accuracy
from skillmake.tables.columns import Epoch, Row, Step, TaskType
from skillmake.tables.pairs import outcomes_of
from skillmake.tables.peers import MINIBATCH, PEERS
from skillmake.tables.record import RunRecord, StepRecord
from skillmake.texts import Texts, is_default
from skillmake.units import Unit, share_right, unit_right

OURS = "gate"


class ShadowGateRow(Row):
    """One rule on one gated candidate. The rules read the units of the rungs that the gate has begun.

    Where the gate stopped inside a rung, what it did not ask is unknown: `accepts_least` and `accepts_most`
    bound what a rule says whatever the missing outcomes are, and `accepts` is empty where they differ. With
    `gate.shadow` the rest of the rung is asked, and nothing is missing.
    """

    epoch: Epoch
    step: Step
    task_type: TaskType
    rule: str = Field(
        description="`gate` (the run's own), `mean_is_higher`, `minibatch_of_3` (better on three units, "
        "drawn at random) or `one_standard_error` (better by more than one, paired)."
    )
    accepts: float | None = Field(
        description="Chance that the rule accepts; empty where it is not determined."
    )
    accepts_least: float = Field(description="Its smallest value, over the missing outcomes.")
    accepts_most: float = Field(description="Its largest value, over the missing outcomes.")
    asked: int = Field(description="Units on which the rule asks the candidate.")
    missing: int = Field(description="Units that the other rules would read and the gate did not ask.")
    wins: int = Field(description="Units known that only the candidate gets right.")
    losses: int = Field(description="Units known that only the current skill gets right.")
    n: int = Field(description="Units known, without errors.")
    action: Action = Field(description="What the run's gate decided.")
    validation_before: float | None = Field(
        description="Accuracy of the type in the last full validation before the epoch. This and the next "
        "five are empty where the candidate was not accepted: no full validation ever saw it."
    )
    validation_after: float | None = Field(description="The same in the full validation R of the epoch.")
    validation_wins: int | None = Field(description="Units of the type that turned right between the two.")
    validation_losses: int | None = Field(description="Units of the type that turned wrong.")
    alone: bool | None = Field(
        description="Nothing else that the type's answers follow from has changed between the two."
    )
    probation: str | None = Field(
        description="How its probation ended, if it had one: `confirmed`, `rolled_back`, or `open` so far."
    )
    true_gain: float | None = Field(
        description="Known-truth world only, once the run has finished: what the candidate really gains "
        "on the type, accepted or not."
    )


def shadow_gate_rows(record: RunRecord, world: World | None) -> Iterator[ShadowGateRow]:
    """Rows of the table `shadow_gate`; `world` in a rehearsal."""
    ends = _probation_ends(record)
    for step in record.steps:
        for gate in step.gates:
            if gate.decision is None:
                continue
            said = _validation_said(record, step, gate)
            said["probation"] = ends.get((step.epoch, step.step, gate.task_type))
            said["true_gain"] = world and _true_gain(world, step.texts, gate)
            for verdict in verdicts(gate, [record.benchmark.units[u] for u in _units(gate)]):
                yield ShadowGateRow(
                    epoch=step.epoch, step=step.step, task_type=gate.task_type, **verdict, **said
                )


def verdicts(gate: GateResult, units: Sequence[Unit]) -> list[dict[str, Any]]:
    """What each rule says of a candidate; `units`: all whose baseline was asked."""
    decision = gate.decision
    assert decision is not None
    seen = (*decision.evidence, *decision.shadow)
    asked = {row.unit_id for row in seen}
    known = [
        row.candidate - row.baseline for row in seen if row.candidate is not None and row.baseline is not None
    ]
    shares = unit_shares(units, gate.baseline_rows)
    waiting = [share for unit, share in shares.items() if unit not in asked and share is not None]
    common = {
        "missing": len(waiting),
        "wins": sum(d > 0 for d in known),
        "losses": sum(d < 0 for d in known),
        "n": len(known),
        "action": decision.action,
    }
    ours = float(decision.action in ("accept", "accept_provisional"))
    found = [{"rule": OURS, "asked": len(decision.evidence), **_bounds(ours, ours), **common}]
    for name, rule in PEERS.items():
        everything = len(known) + len(waiting)
        bounds = _bounds(rule([*known, *(-b for b in waiting)]), rule([*known, *(1 - b for b in waiting)]))
        size = min(MINIBATCH, everything) if name == "minibatch_of_3" else everything
        found.append({"rule": name, "asked": size, **bounds, **common})
    return found


def unit_shares(units: Sequence[Unit], rows: Sequence[Prediction]) -> dict[str, float | None]:
    """Share of the draws of each unit that are right, as the gate reads it."""
    draws: dict[int, dict[str, bool | None]] = {}
    for row in rows:
        draws.setdefault(row.replicate, {})[row.question_id] = row.right
    return {
        unit.unit_id: share_right([unit_right(unit, right) for right in draws.values()]) for unit in units
    }


def _units(gate: GateResult) -> list[str]:
    return sorted({row.unit_id for row in gate.baseline_rows})


def _bounds(least: float, most: float) -> dict[str, Any]:
    least, most = round(least, 6), round(most, 6)
    return {"accepts_least": least, "accepts_most": most, "accepts": least if least == most else None}


def _accepted(gate: GateResult) -> bool:
    return gate.decision is not None and gate.decision.action in ("accept", "accept_provisional")


def _validation_said(record: RunRecord, step: StepRecord, gate: GateResult) -> dict[str, Any]:
    names = ("before", "after", "wins", "losses")
    said: dict[str, Any] = {f"validation_{name}": None for name in names} | {"alone": None}
    end = next((end for end in record.ends if end.epoch == step.epoch), None)
    if end is None or not _accepted(gate):
        return said
    texts, rows = record.measured_before(step.epoch)
    units = [unit for unit in record.benchmark.validation if unit.task_type == gate.task_type]
    before, after = (outcomes_of(units, found) for found in (rows, end.validation.rows))
    pairs = [(before.get(unit.unit_id), after.get(unit.unit_id)) for unit in units]
    old, new = texts.skill(gate.task_type), end.measured.skill(gate.task_type)
    is_parent = sha256(old) == gate.candidate.parent and new == gate.candidate.text
    return {
        "validation_before": accuracy({u: right for u, right in before.items() if right is not None}),
        "validation_after": accuracy({u: right for u, right in after.items() if right is not None}),
        "validation_wins": pairs.count((False, True)),
        "validation_losses": pairs.count((True, False)),
        "alone": is_parent and texts.prompts.digest == end.measured.prompts.digest,
    }


def _probation_ends(record: RunRecord) -> dict[tuple[int, int, str], str]:
    """How probations ended, by epoch, step and type of each accepted candidate that was in one."""
    ends: dict[tuple[int, int, str], str] = {}
    inside: dict[str, list[tuple[int, int, str]]] = {}
    for epoch in sorted({step.epoch for step in record.steps}):
        for step in (step for step in record.steps if step.epoch == epoch):
            for gate in filter(_accepted, step.gates):
                path, key = gate.candidate.path, (epoch, step.step, gate.task_type)
                assert gate.decision is not None
                opens = gate.decision.action == "accept_provisional" and not is_default(path)
                if path in inside or opens:
                    inside.setdefault(path, []).append(key)
        for end in (end for end in record.ends if end.epoch == epoch):
            for outcome in end.report.probations:
                ends |= dict.fromkeys(inside.get(outcome.path, ()), outcome.outcome)
                if outcome.outcome != "open":
                    inside.pop(outcome.path, None)
    return ends


def _true_gain(world: World, texts: Texts, gate: GateResult) -> float:
    task_type = gate.task_type
    sides = (texts.skill(task_type), gate.candidate.text)
    system = texts.system
    before, after = (world.true_accuracy({task_type: s}, system=system).types[task_type] for s in sides)
    return round(after - before, 6)
