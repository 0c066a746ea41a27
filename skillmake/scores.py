"""Hard, soft and mixed score of a full validation (SPEC §7.2)."""

from collections.abc import Iterable, Mapping, Sequence

from skillmake.artifacts import Artifact
from skillmake.packs import Diagnosis
from skillmake.slow import Validation
from skillmake.state import outcomes_by_unit
from skillmake.units import Unit


class Score(Artifact):
    """Three numbers in [0, 1]; `mixed` is half `hard` and half `soft`."""

    hard: float
    soft: float
    mixed: float


class Scores(Artifact):
    """Scores of one version over `units` units, overall and by type; `soft` is by question.

    `diagnosed`: questions whose soft score comes from a diagnosis and not from the outcome.
    """

    overall: Score
    by_type: dict[str, Score]
    soft: dict[str, float]
    diagnosed: int
    units: int


def score(validation: Validation, units: Sequence[Unit], diagnosed: Mapping[str, float]) -> Scores:
    """Scores of a validation run, over the units that have an outcome.

    Hard: share of units that are right. Soft of a question: what a diagnosis has said of it
    (`diagnosed`, in [0, 1]), else its own outcome, 1 or 0; soft of a unit: the mean over its questions
    without error, so that a twin pair with one right answer counts half. Without a diagnosis of validation
    questions the two differ in twin pairs only.
    """
    outcomes = outcomes_by_unit(units, validation.rows)
    soft = {
        row.question_id: diagnosed.get(row.question_id, float(row.right))
        for row in validation.rows
        if row.right is not None and row.replicate == 0
    }
    judged = [unit for unit in units if unit.unit_id in outcomes]
    by_type: dict[str, list[Unit]] = {}
    for unit in judged:
        by_type.setdefault(unit.task_type, []).append(unit)
    return Scores(
        overall=_score(judged, outcomes, soft),
        by_type={task_type: _score(found, outcomes, soft) for task_type, found in sorted(by_type.items())},
        soft=soft,
        diagnosed=len(soft.keys() & diagnosed.keys()),
        units=len(judged),
    )


def _score(units: Sequence[Unit], outcomes: Mapping[str, bool], soft: Mapping[str, float]) -> Score:
    hard = _mean([float(outcomes[unit.unit_id]) for unit in units])
    found = _mean(
        [_mean([soft[q.question_id] for q in unit.questions if q.question_id in soft]) for unit in units]
    )
    return Score(hard=round(hard, 6), soft=round(found, 6), mixed=round((hard + found) / 2, 6))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def known_soft(diagnoses: Iterable[Diagnosis]) -> dict[str, float]:
    """Soft scores by question of an epoch's diagnoses; the last of a question counts."""
    return {question_id: value for each in diagnoses for question_id, value in each.soft.items()}
