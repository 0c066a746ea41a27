"""Hard, soft and mixed score of a full validation (SPEC §7.2)."""

from collections.abc import Iterable, Mapping, Sequence

from skillmake.artifacts import Artifact
from skillmake.packs import Judging
from skillmake.slow import Validation
from skillmake.state import outcomes_by_unit
from skillmake.traces import soft_score
from skillmake.units import Unit


class Score(Artifact):
    """Three numbers in [0, 1]; `mixed` is half `hard` and half `soft`."""

    hard: float
    soft: float
    mixed: float


class Scores(Artifact):
    """Scores of one version over `units` units, overall and by type; `soft` is by question.

    `judged`: questions whose soft score comes from judges.
    """

    overall: Score
    by_type: dict[str, Score]
    soft: dict[str, float]
    judged: int
    units: int


class SoftScores(Artifact):
    """`soft`: in [0, 1], by question, of the wrong answers whose judgement is usable.

    `judgings`: of all wrong answers; `degraded` there says why one has no score: its outcome counts.
    """

    soft: dict[str, float]
    judgings: dict[str, Judging]

    @property
    def summary(self) -> str:
        """For a progress line."""
        unusable = len(self.judgings) - len(self.soft)
        more = f", {unusable} judgements cannot be used" if unusable else ""
        return f"soft scores of {len(self.soft)} wrong answers{more}"


def known_soft(found: Iterable[SoftScores]) -> dict[str, float]:
    """What judges have said, by question; empty where the run has no judges of validations."""
    return {name: value for each in found for name, value in each.soft.items()}


def score(validation: Validation, units: Sequence[Unit], judged: Mapping[str, float]) -> Scores:
    """Scores of a validation run, over the units that have an outcome.

    Hard: share of units that are right. Soft of a question: what judges have said of it (`judged`, in
    [0, 1]), else what its trace says (`traces.soft_score`), which without known evidence is its outcome, 1 or
    0; soft of a unit: the mean over its questions without error, so that a twin pair with one right answer
    counts half.
    """
    outcomes = outcomes_by_unit(units, validation.rows)
    soft = {
        row.question_id: judged.get(row.question_id, soft_score(row))
        for row in validation.rows
        if row.right is not None and row.replicate == 0
    }
    scored = [unit for unit in units if unit.unit_id in outcomes]
    by_type: dict[str, list[Unit]] = {}
    for unit in scored:
        by_type.setdefault(unit.task_type, []).append(unit)
    return Scores(
        overall=_score(scored, outcomes, soft),
        by_type={task_type: _score(found, outcomes, soft) for task_type, found in sorted(by_type.items())},
        soft=soft,
        judged=len(soft.keys() & judged.keys()),
        units=len(scored),
    )


def _score(units: Sequence[Unit], outcomes: Mapping[str, bool], soft: Mapping[str, float]) -> Score:
    hard = _mean([float(outcomes[unit.unit_id]) for unit in units])
    found = _mean(
        [_mean([soft[q.question_id] for q in unit.questions if q.question_id in soft]) for unit in units]
    )
    return Score(hard=round(hard, 6), soft=round(found, 6), mixed=round((hard + found) / 2, 6))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
