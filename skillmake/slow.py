"""The slow update at an epoch's end: validation, probations, best, p̂ (SPEC §7, steps 1-5 and 10)."""

from collections.abc import Sequence
from typing import Literal

from skillmake.agent.loop import Prediction
from skillmake.artifacts import Artifact
from skillmake.config.models import Slow
from skillmake.evidence import e_value
from skillmake.gate import GateNumbers
from skillmake.ladder import update_p_hat
from skillmake.settle import add_seen, version_note
from skillmake.state import (
    Best,
    Probation,
    RejectedEdit,
    State,
    accuracy,
    observe,
    outcomes_by_unit,
    unit_outcomes,
)
from skillmake.texts import Texts
from skillmake.units import Unit

ProbationEnd = Literal["confirmed", "open", "rolled_back"]


class Validation(Artifact):
    """Full validation R of one version; `accuracy` in units, overall and by type."""

    skills: str
    prompts: str
    accuracy: float
    by_type: dict[str, float]
    rows: tuple[Prediction, ...]


class ProbationOutcome(Artifact):
    """How a probation ended: unit flips between the anchor's snapshot and R."""

    task_type: str
    path: str
    improved: int
    regressed: int
    e: float
    e_harm: float
    outcome: ProbationEnd


class ProbationReport(Artifact):
    """All probations that an epoch's end settled."""

    outcomes: tuple[ProbationOutcome, ...]


class Leader(Artifact):
    """The measured version with the highest mixed score so far; it is only looked at (SPEC §7.9)."""

    mixed: float
    epoch: int
    texts: Texts


class BestReport(Artifact):
    """Best so far and its texts; `promoted` when this epoch's version is strictly better."""

    best: Best
    texts: Texts
    promoted: bool
    by_mixed: Leader | None = None


def validate(texts: Texts, rows: Sequence[Prediction], units: Sequence[Unit]) -> Validation:
    """Score a full validation run; a unit with an error is left out of the accuracy."""
    outcomes = outcomes_by_unit(units, rows)
    by_type: dict[str, dict[str, bool]] = {}
    for unit in units:
        if unit.unit_id in outcomes:
            by_type.setdefault(unit.task_type, {})[unit.unit_id] = outcomes[unit.unit_id]
    return Validation(
        skills=texts.skills.digest,
        prompts=texts.prompts.digest,
        accuracy=accuracy(outcomes),
        by_type={task_type: accuracy(found) for task_type, found in by_type.items()},
        rows=tuple(rows),
    )


def write_back(state: State, validation: Validation, units: Sequence[Unit]) -> State:
    """R's outcomes replace what was known, unconditionally (SPEC §7.3)."""
    return state.model_copy(
        update={
            "correctness": observe(state.correctness, validation.rows),
            "seen": add_seen(state.seen, outcomes_by_unit(units, validation.rows)),
        }
    )


def settle_probations(
    state: State, texts: Texts, validation: Validation, units: Sequence[Unit], slow: Slow, cooldown_steps: int
) -> tuple[State, Texts, list[ProbationOutcome]]:
    """Confirm, keep open or roll back every probation, in alphabetical order of file (SPEC §7.4)."""
    now = outcomes_by_unit(units, validation.rows)
    reports = []
    still_open = {}
    for path in sorted(state.probations):
        probation = state.probations[path]
        before = unit_outcomes(units, probation.snapshot)
        known = {unit: was for unit, was in before.items() if was is not None}
        numbers = _flips([(was, now[unit]) for unit, was in known.items() if unit in now])
        # Where all that is known ended in errors, R says nothing: it is no validation that has been lasted
        has_validated = numbers.n > 0 or not known
        lasted = probation.validations + has_validated
        outcome = probation_outcome(numbers, slow, lasted) if has_validated else "open"
        if outcome == "rolled_back":
            state, texts = _roll_back(state, texts, probation, numbers, cooldown_steps)
        elif outcome == "open":
            still_open[path] = probation.model_copy(update={"validations": lasted})
        reports.append(
            ProbationOutcome(
                task_type=probation.task_type,
                path=path,
                improved=numbers.wins,
                regressed=numbers.losses,
                e=numbers.e,
                e_harm=numbers.e_harm,
                outcome=outcome,
            )
        )
    return state.model_copy(update={"probations": still_open}), texts, reports


def probation_outcome(numbers: GateNumbers, slow: Slow, validations: int) -> ProbationEnd:
    """What full validation number `validations` says about a version on probation.

    SPEC §7.4 rolls back on evidence of harm (`slow.e_rollback`). Beyond it, evidence of gain has to hold over
    the whole validation pool, of which the gate saw a part: `slow.e_keep` confirms, less than `slow.e_drop`
    rolls back, and what lies between stays open for `slow.probation_epochs`. Without it one useless edit in
    ten survives (benchmarks/gate_calibration.md).
    """
    if numbers.e_harm >= slow.e_rollback:
        return "rolled_back"
    if numbers.e >= slow.e_keep or numbers.n == 0:
        return "confirmed"
    return "rolled_back" if numbers.e < slow.e_drop or validations >= slow.probation_epochs else "open"


def _flips(pairs: Sequence[tuple[bool, bool]]) -> GateNumbers:
    improved, regressed = pairs.count((False, True)), pairs.count((True, False))
    return GateNumbers(
        wins=improved,
        losses=regressed,
        n=len(pairs),
        e=round(e_value(improved, regressed), 6),
        e_harm=round(e_value(regressed, improved), 6),
        delta=round((improved - regressed) / len(pairs), 6) if pairs else 0.0,
    )


def _roll_back(
    state: State, texts: Texts, probation: Probation, numbers: GateNumbers, cooldown: int
) -> tuple[State, Texts]:
    """Restore the file and the snapshot; the pending edits go to the rejected list."""
    after = texts.with_skill(
        probation.path, probation.anchor_text, f"rollback of {probation.task_type} to {probation.anchor}"
    )
    entry = RejectedEdit(edits=probation.edits, numbers=numbers, step=state.step, why="rolled back")
    rejected = (*state.rejected.get(probation.task_type, ()), entry)
    note = version_note(after.skills, state.epoch + 1, state.step, f"probation of {probation.path} failed")
    state = state.model_copy(
        update={
            "rejected": {**state.rejected, probation.task_type: rejected},
            "cooldowns": {**state.cooldowns, probation.task_type: cooldown} if cooldown else state.cooldowns,
            "versions": (*state.versions, note),
            "correctness": {**state.correctness, **probation.snapshot},
        }
    )
    return state, after


def choose_best(
    previous: BestReport, validation: Validation, measured: Texts, epoch: int, mixed: float | None = None
) -> BestReport:
    """Strictly higher validation accuracy wins; a tie keeps the older version (SPEC §7.5).

    The same rule on the `mixed` score, where it is given, leads `by_mixed`, which decides nothing.
    """
    leader = previous.by_mixed
    if mixed is not None and (leader is None or mixed > leader.mixed):
        leader = Leader(mixed=mixed, epoch=epoch, texts=measured)
    if validation.accuracy <= previous.best.accuracy:
        return previous.model_copy(update={"promoted": False, "by_mixed": leader})
    best = Best(
        skills=measured.skills.digest,
        prompts=measured.prompts.digest,
        accuracy=validation.accuracy,
        epoch=epoch,
    )
    return BestReport(best=best, texts=measured, promoted=True, by_mixed=leader)


def epochs_without_best(state: State, report: BestReport) -> int:
    """Epochs since the last best, with the one that ends; `state`: any of that epoch."""
    return 0 if report.promoted else state.epochs_without_best + 1


def end_epoch(state: State, report: BestReport, epoch: int, slow: Slow) -> State:
    """The state the next epoch starts from: p̂ refreshed, accumulators empty, best noted."""
    return state.model_copy(
        update={
            "epoch": epoch,
            "best": report.best,
            "epochs_without_best": epochs_without_best(state, report),
            "p_hat": update_p_hat(state.p_hat, state.seen, slow.gamma),
            "seen": {},
        }
    )
