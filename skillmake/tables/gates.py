"""Tables of the steps: what became of each type's candidate, and the evidence of the gates unit by unit."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from skillmake.evidence import e_value
from skillmake.gate import EvidenceRow, Tally
from skillmake.settle import GateResult
from skillmake.state import outcomes_by_unit
from skillmake.tables.columns import Epoch, Row, Step, TaskType, UnitId
from skillmake.tables.record import RunRecord, StepRecord


class StepReportRow(Row):
    """One task type in one step: its part of the batch, the diagnosis, its candidate and the gate."""

    epoch: Epoch
    step: Step
    task_type: TaskType
    units: int = Field(description="Units of the batch with an outcome.")
    right: int = Field(description="Units that were right.")
    errors: int = Field(description="Questions that ended in an error of the infrastructure.")
    soft: float | None = Field(description="Mean soft score of the questions; empty without any.")
    defects: int = Field(description="Wrong answers for which the judges blame a defect of the text.")
    lapses: int = Field(description="Wrong answers in which a good text was not followed.")
    degraded: int = Field(description="Cases without a usable judgement.")
    status: Literal["proposed", "skipped"] = Field(
        description="`proposed`: there is a candidate; `skipped`: there is none."
    )
    reason: str = Field(description="Why there is none; else empty.")
    edit_budget: int = Field(description="Most edits that the candidate could have.")
    edits_proposed: int = Field(description="Edits that the teacher proposed.")
    edits_applied: int = Field(description="Edits that were applied.")
    clipped: bool = Field(description="There were more edits than the budget.")
    steps_carried: int = Field(description="Steps since the candidate was made: it came close before.")
    teacher_calls: int = Field(description="Calls to the teacher.")
    action: str | None = Field(description="`accept`, `accept_provisional`, `reject` or `inconclusive`.")
    stop_reason: str | None = Field(
        description="Why the gate stopped: `confirmed`, `provisional`, `futile`, `harmful`, `exhausted`, "
        "`errors`, `no_units` or `carried`."
    )
    asked: int = Field(description="Units on which the candidate was asked.")
    wins: int | None = Field(description="Units that only the candidate gets right.")
    losses: int | None = Field(description="Units that only the current skill gets right.")
    n: int | None = Field(description="Units without an error.")
    e: float | None = Field(description="Evidence that the candidate is better.")
    e_harm: float | None = Field(description="Evidence that it is worse.")
    e_confirm: float | None = Field(description="Evidence that was asked for a confirmation.")
    e_provisional: float | None = Field(description="Evidence that was asked for a provisional accept.")
    delta: float | None = Field(description="(W - L)/n.")
    delta_shrunk: float | None = Field(description="The lift, shrunk by the prior.")
    delta_low: float | None = Field(description="Lower end of the lift's confidence sequence.")
    delta_high: float | None = Field(description="Upper end of the lift's confidence sequence.")


class GateEvidenceRow(Row):
    """One unit on one rung of a gate, in the order in which outcomes were read."""

    gate: Literal["candidate", "momentum"] = Field(description="What was gated: `candidate`, or `momentum`.")
    epoch: Epoch
    step: Step
    task_type: TaskType
    rung: int = Field(description="Rung, from 0.")
    position: int = Field(description="Place in the climb, from 0.")
    unit_id: UnitId
    baseline: float | None = Field(description="Share of draws right with the current text; empty: error.")
    candidate: float | None = Field(description="Share of draws right with the changed text; empty: error.")
    outcome: Literal["win", "loss", "tie", "error"] = Field(
        description="Of the changed text: `win`, `loss`, `tie` or `error`."
    )
    wins: int = Field(description="Wins so far, with those of earlier ladders.")
    losses: int = Field(description="Losses so far, with those of earlier ladders.")
    e: float = Field(description="Evidence for the changed text so far.")
    e_harm: float = Field(description="Evidence against it so far.")
    read: bool = Field(description="A rung ends here: only here the gate read its evidence to accept.")


def step_report_rows(record: RunRecord) -> Iterator[StepReportRow]:
    """Rows of the table `step_report`."""
    for step in record.steps:
        for gate in step.gates:
            yield StepReportRow(
                epoch=step.epoch,
                step=step.step,
                task_type=gate.task_type,
                **_of_batch(record, step, gate.task_type),
                **_of_candidate(gate),
                **_of_decision(gate),
            )


def gate_evidence_rows(record: RunRecord) -> Iterator[GateEvidenceRow]:
    """Rows of the table `gate_evidence`, those of momentum behind the steps of their epoch."""
    for step in record.steps:
        for gate in step.gates:
            if (decision := gate.decision) is not None:
                where = {"gate": "candidate", "epoch": step.epoch, "step": step.step}
                where |= {"task_type": gate.task_type}
                yield from _climb(where, decision.evidence, gate.candidate.prior, len(decision.e_path))
    for end in record.ends:
        for check in end.momentum.checks:
            where = {"gate": "momentum", "epoch": end.epoch, "step": None, "task_type": check.task_type}
            evidence = check.check.evidence
            rungs = len({row.rung for row in evidence})
            yield from _climb(where, evidence, Tally(), rungs)


def _of_batch(record: RunRecord, step: StepRecord, task_type: str) -> dict[str, object]:
    rows = [row for row in step.rollout.rows if row.task_type == task_type]
    units = {row.unit_id: record.benchmark.units[row.unit_id] for row in rows}
    outcomes = outcomes_by_unit(units.values(), rows)
    asked = {row.question_id for row in rows}
    soft = [value for question_id, value in step.diagnosis.soft.items() if question_id in asked]
    packs = (step.diagnosis.system, *step.diagnosis.skill.values(), *step.diagnosis.tools.values())
    cases = {case.question_id: case for pack in packs for case in pack.cases}
    verdicts = Counter(case.verdict for question_id, case in cases.items() if question_id in asked)
    judged = [judging for question_id, judging in step.diagnosis.judgings.items() if question_id in asked]
    return {
        "units": len(outcomes),
        "right": sum(outcomes.values()),
        "errors": sum(row.right is None for row in rows),
        "soft": round(sum(soft) / len(soft), 6) if soft else None,
        "defects": verdicts["defect"],
        "lapses": verdicts["lapse"],
        "degraded": sum(bool(judging.degraded) for judging in judged),
    }


def _of_candidate(gate: GateResult) -> dict[str, object]:
    candidate = gate.candidate
    return {
        "status": candidate.status,
        "reason": candidate.reason,
        "edit_budget": candidate.budget,
        "edits_proposed": len(candidate.reports),
        "edits_applied": len(candidate.applied),
        "clipped": candidate.clipped,
        "steps_carried": candidate.steps_carried,
        "teacher_calls": len(candidate.calls),
    }


def _of_decision(gate: GateResult) -> dict[str, object]:
    decision = gate.decision
    numbers = decision.numbers if decision else None
    low, high = decision.delta_ci if decision and decision.delta_ci else (None, None)
    names = ("wins", "losses", "n", "e", "e_harm", "delta", "delta_shrunk")
    return {
        "action": decision and decision.action,
        "stop_reason": decision and decision.stop_reason,
        "asked": len(decision.evidence) if decision else 0,
        "e_confirm": decision and decision.confirm_at,
        "e_provisional": decision and decision.provisional_at,
        "delta_low": low,
        "delta_high": high,
        **{name: getattr(numbers, name, None) for name in names},
    }


def _climb(
    where: dict[str, object], evidence: Sequence[EvidenceRow], prior: Tally, rungs_read: int
) -> Iterator[GateEvidenceRow]:
    """Rows of one climb, whose first `rungs_read` rungs were climbed to their end."""
    wins, losses = prior.wins, prior.losses
    for row, following in zip(evidence, [*evidence[1:], None], strict=True):
        wins += row.outcome == "win"
        losses += row.outcome == "loss"
        is_last = following is None or following.rung != row.rung
        yield GateEvidenceRow(
            **where,
            rung=row.rung,
            position=row.position,
            unit_id=row.unit_id,
            baseline=row.baseline,
            candidate=row.candidate,
            outcome=row.outcome,
            wins=wins,
            losses=losses,
            e=round(e_value(wins, losses), 6),
            e_harm=round(e_value(losses, wins), 6),
            read=is_last and row.rung < rungs_read,
        )
