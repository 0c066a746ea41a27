"""Tables of the epochs' ends: scores of validated versions, the report, and the held-out test."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pydantic import Field

from skillmake.agent.loop import Prediction
from skillmake.holdout import rows_by_side
from skillmake.scores import Scores, score
from skillmake.slow import Validation, validate
from skillmake.state import accuracy, outcomes_by_unit
from skillmake.tables.columns import AnyType, Epoch, Prompts, Row, Skills, Units
from skillmake.tables.record import EndRecord, RunRecord
from skillmake.units import Unit


class DualMetricRow(Row):
    """Hard, soft and mixed score of a version on the validation units, for one task type or for all."""

    epoch: Epoch
    version: str = Field(
        description="`seed`, `final` (R: the epoch's last version) or `slow_candidate` (R2: with new "
        "prompts, which may be reverted)."
    )
    skills: Skills
    prompts: Prompts
    task_type: AnyType
    units: Units
    hard: float = Field(description="Share of units that are right.")
    soft: float = Field(description="Mean soft score of the units.")
    mixed: float = Field(description="Half of `hard` and half of `soft`.")
    judged: int | None = Field(
        description="Questions whose soft score comes from judges; only in the row of all types."
    )


class HoldoutRow(Row):
    """Accuracy of a version on the sealed test units, for one task type or for all; only observed."""

    evaluation: str = Field(description="`epoch` (with slow.run_holdout_eval) or `final`.")
    epoch: Epoch
    version: str = Field(
        description="`baseline`, `best`, `epoch` and `best_mixed` at an epoch's end; `baseline` and "
        "`delivered` at the run's."
    )
    skills: Skills
    prompts: Prompts
    task_type: AnyType
    units: Units
    accuracy: float = Field(description="Share of units that are right.")
    rollouts: str = Field(description="Whose rollouts they are: each distinct version is answered once.")


class EpochRow(Row):
    """What an epoch has brought."""

    epoch: Epoch
    skills: Skills
    prompts: Prompts
    next_skills: str = Field(description="Digest of the skills that the next epoch starts with.")
    next_prompts: str = Field(description="Digest of the prompts that the next epoch starts with.")
    hard: float = Field(description="Share of validation units right in R.")
    soft: float = Field(description="Mean soft score of R.")
    mixed: float = Field(description="Half of `hard` and half of `soft`.")
    second_hard: float | None = Field(description="Share right in R2; empty where prompts did not change.")
    tried: int = Field(description="Candidates that reached the gate.")
    accepted: int = Field(description="Of them confirmed.")
    provisional: int = Field(description="Of them accepted on probation.")
    rejected: int = Field(description="Of them rejected.")
    inconclusive: int = Field(description="Of them neither: errors, or carried on.")
    probations_confirmed: int = Field(description="Probations that ended well.")
    probations_open: int = Field(description="Probations that go on.")
    probations_rolled_back: int = Field(description="Probations whose file was restored.")
    momentum_accepted: int = Field(description="Skill files that got guidance.")
    momentum_rejected: int = Field(description="Skill files whose guidance the gate refused.")
    momentum_skipped: int = Field(description="Changed skill files without guidance.")
    momentum_reason: str = Field(description="Why there was no momentum at all; else empty.")
    prompts_changed: int = Field(description="Prompt files that were edited.")
    prompts_verdict: str = Field(description="`kept`, `reverted` or `not_run`.")
    prompts_reason: str = Field(description="Why.")
    best_accuracy: float = Field(description="Validation accuracy of the best version so far.")
    best_epoch: int = Field(description="Epoch of the best version.")
    promoted: bool = Field(description="The best version is of this epoch.")
    best_mixed: float | None = Field(description="Highest mixed score so far.")
    best_mixed_epoch: int | None = Field(description="Epoch of the version with it.")
    epochs_without_best: int = Field(description="Epochs since the last best version.")


def dual_metric_rows(record: RunRecord) -> Iterator[DualMetricRow]:
    """Rows of the table `dual_metric`, in order of time."""
    validation, rows = record.benchmark.validation, record.baseline.rows
    seed = validate(record.seed, rows, validation)
    yield from _scored(0, "seed", seed, score(seed, validation, record.seed_soft), validation)
    for end in record.ends:
        yield from _scored(end.epoch, "final", end.validation, end.scores, validation)
        if end.second.slow_candidate is not None and end.second.scores is not None:
            found = (end.second.slow_candidate, end.second.scores)
            yield from _scored(end.epoch, "slow_candidate", *found, validation)


def _scored(
    epoch: int, version: str, measured: Validation, scores: Scores, units: Sequence[Unit]
) -> Iterator[DualMetricRow]:
    found = outcomes_by_unit(units, measured.rows)
    sizes = Counter(unit.task_type for unit in units if unit.unit_id in found)
    for task_type, each in [(None, scores.overall), *sorted(scores.by_type.items())]:
        yield DualMetricRow(
            epoch=epoch,
            version=version,
            skills=measured.skills,
            prompts=measured.prompts,
            task_type=task_type,
            units=scores.units if task_type is None else sizes[task_type],
            hard=each.hard,
            soft=each.soft,
            mixed=each.mixed,
            judged=scores.judged if task_type is None else None,
        )


def epoch_rows(record: RunRecord) -> Iterator[EpochRow]:
    """Rows of the table `epoch_report`."""
    for end in record.ends:
        report = end.report
        yield EpochRow(
            epoch=end.epoch,
            skills=report.measured[0],
            prompts=report.measured[1],
            next_skills=report.next[0],
            next_prompts=report.next[1],
            hard=report.score.hard,
            soft=report.score.soft,
            mixed=report.score.mixed,
            second_hard=report.second and report.second.hard,
            **_sums(end),
            momentum_reason=report.momentum_reason,
            prompts_changed=len(report.prompts.changed),
            prompts_verdict=report.prompts.verdict,
            prompts_reason=report.prompts.reason,
            best_accuracy=report.best.accuracy,
            best_epoch=report.best.epoch,
            promoted=report.promoted,
            best_mixed=report.best_mixed and report.best_mixed.mixed,
            best_mixed_epoch=report.best_mixed and report.best_mixed.epoch,
            epochs_without_best=report.epochs_without_best,
        )


def _sums(end: EndRecord) -> dict[str, int]:
    report = end.report
    names = ("tried", "accepted", "provisional", "rejected", "inconclusive")
    probations = Counter(each.outcome for each in report.probations)
    momentum = Counter(line.status for line in report.momentum.values())
    return {
        **{name: sum(getattr(tally, name) for tally in report.edits.values()) for name in names},
        **{f"probations_{name}": probations[name] for name in ("confirmed", "open", "rolled_back")},
        **{f"momentum_{name}": momentum[name] for name in ("accepted", "rejected", "skipped")},
    }


def holdout_rows(record: RunRecord) -> Iterator[HoldoutRow]:
    """Rows of the table `holdout_eval`: those of the epochs, then seed and delivered at the run's end."""
    units, baseline = record.benchmark.test, record.baseline
    for end in record.ends:
        if end.holdout is not None:
            rows = {"data/baseline": baseline.rows, **rows_by_side(end.holdout)}
            for name, side in end.holdout.sides.items():
                where = ("epoch", end.epoch, name, side.skills, side.prompts)
                yield from _tested(*where, rows[side.rollouts], side.rollouts, units)
    if (test := record.test) is not None:
        seed = ("final", len(record.ends), "baseline", baseline.skills, baseline.prompts)
        yield from _tested(*seed, baseline.rows, "data/baseline", units)
        delivered = ("final", len(record.ends), "delivered", test.skills, test.prompts)
        yield from _tested(*delivered, test.rows, "final_test", units)


def _tested(
    evaluation: str,
    epoch: int,
    version: str,
    skills: str,
    prompts: str,
    rows: Iterable[Prediction],
    rollouts: str,
    units: Sequence[Unit],
) -> Iterator[HoldoutRow]:
    outcomes = outcomes_by_unit(units, list(rows))
    types = sorted({unit.task_type for unit in units})
    for task_type in (None, *types):
        ids = {unit.unit_id for unit in units if task_type in (None, unit.task_type)}
        found = {unit: right for unit, right in outcomes.items() if unit in ids}
        yield HoldoutRow(
            evaluation=evaluation,
            epoch=epoch,
            version=version,
            skills=skills,
            prompts=prompts,
            task_type=task_type,
            units=len(found),
            accuracy=accuracy(found),
            rollouts=rollouts,
        )
