"""The four-way held-out test of an epoch: observed only, it decides nothing (SPEC §7.9)."""

from collections.abc import Callable, Mapping, Sequence

from skillmake.agent.loop import Prediction
from skillmake.artifacts import Artifact
from skillmake.rollout import Rollout
from skillmake.slow import BestReport
from skillmake.state import accuracy, outcomes_by_unit
from skillmake.texts import Texts
from skillmake.units import Unit


class HoldoutSide(Artifact):
    """Accuracy of one version on the test units, and where its rollouts come from."""

    skills: str
    prompts: str
    accuracy: float
    rollouts: str


class Holdout(Artifact):
    """Sides `baseline`, `best`, `epoch` and `best_mixed`; `rows`: rollouts made for them."""

    sides: dict[str, HoldoutSide]
    rows: tuple[Prediction, ...]


NAMES = ("baseline", "best", "epoch", "best_mixed")  # in the order in which they are answered


def sides(seed: Texts, measured: Texts, best: BestReport) -> dict[str, Texts]:
    """Texts by side; `measured` is the version that R has measured."""
    leader = best.by_mixed.texts if best.by_mixed else best.texts
    return dict(zip(NAMES, (seed, best.texts, measured, leader), strict=True))


def run_holdout(
    versions: Mapping[str, Texts],
    baseline: Rollout,
    units: Sequence[Unit],
    answer: Callable[[Texts], list[Prediction]],
) -> Holdout:
    """Accuracy of each side on the test units; each distinct version is answered once.

    `baseline`: stored rollouts of the seed, used for whatever side has its versions. `answer` rolls out
    all test questions with given texts.
    """
    rows: dict[tuple[str, str], Sequence[Prediction]] = {(baseline.skills, baseline.prompts): baseline.rows}
    first = {(baseline.skills, baseline.prompts): "data/baseline"}
    found = {}
    made: list[Prediction] = []
    for name, texts in versions.items():
        key = (texts.skills.digest, texts.prompts.digest)
        if key not in rows:
            rows[key], first[key] = answer(texts), name
            made += rows[key]
        found[name] = HoldoutSide(
            skills=key[0],
            prompts=key[1],
            accuracy=accuracy(outcomes_by_unit(units, rows[key])),
            rollouts=first[key],
        )
    return Holdout(sides=found, rows=tuple(made))


def rows_by_side(holdout: Holdout) -> dict[str, Sequence[Prediction]]:
    """The rollouts made for each side that was answered; a side that took those of another is left out."""
    answered = [name for name in NAMES if holdout.sides[name].rollouts == name]
    size = len(holdout.rows) // max(1, len(answered))
    return {name: holdout.rows[k * size : (k + 1) * size] for k, name in enumerate(answered)}
