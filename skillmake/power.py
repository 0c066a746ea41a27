"""What the configured gate can see: simulated candidates at the very gate of the training (SPEC §6.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import sqrt

from skillmake.artifacts import Artifact
from skillmake.config.models import Gate
from skillmake.evidence import e_value
from skillmake.gate import Decision, Draw, run_gate
from skillmake.ladder import build_ladder
from skillmake.questions import Question
from skillmake.units import Unit, make_units, seeded

LIFT_STEP = 0.01
Outcomes = Sequence[bool]


class GateRates(Artifact):
    """Shares of candidates by what the gate said, and the mean number of units each was asked on."""

    runs: int
    confirmed: float
    provisional: float
    units: float

    @property
    def accepted(self) -> float:
        return round(self.confirmed + self.provisional, 6)


def play(
    baseline: Outcomes,
    candidate: Outcomes,
    config: Gate,
    seed: tuple[object, ...],
    p_hat: Mapping[str, float] | None = None,
) -> Decision:
    """One gate on a pool whose unit number k is right as `baseline[k]` and `candidate[k]` say."""
    units = pool(len(baseline))
    number = {unit.unit_id: k for k, unit in enumerate(units)}
    known = {unit.unit_id: baseline[k] for k, unit in enumerate(units)}
    draw: list[Draw] = [
        lambda asked, side=side: [float(side[number[unit.unit_id]]) for unit in asked]  # type: ignore[misc]
        for side in (baseline, candidate)
    ]
    ladder = build_ladder(units, (), p_hat or {}, known, config, seed)
    return run_gate(ladder, draw[0], draw[1], config, known=known)


@cache
def pool(n: int) -> tuple[Unit, ...]:
    """n single units that stand for those of a pool."""
    names = [f"unit-{k:05d}" for k in range(n)]
    return tuple(
        make_units(
            Question.model_validate({"question_id": q, "task_type": "t", "question": q, "answer": "a"})
            for q in names
        )
    )


def gate_rates(
    pairs: Iterable[tuple[Outcomes, Outcomes]], config: Gate, seed: tuple[object, ...]
) -> GateRates:
    """Gate every (baseline, candidate) pair, each with a ladder of its own."""
    decisions = [play(*pair, config, (*seed, k)) for k, pair in enumerate(pairs)]
    share = {
        action: sum(d.action == action for d in decisions) for action in ("accept", "accept_provisional")
    }
    runs = max(1, len(decisions))
    return GateRates(
        runs=len(decisions),
        confirmed=round(share["accept"] / runs, 6),
        provisional=round(share["accept_provisional"] / runs, 6),
        units=round(sum(d.numbers.n for d in decisions) / runs, 3),
    )


def simulated(
    n: int, accuracy: float, lift: float, churn: float, runs: int, seed: tuple[object, ...]
) -> Iterator[tuple[list[bool], list[bool]]]:
    """(baseline, candidate) outcomes of `runs` candidates on n units.

    In truth each unit is right under the baseline with probability `accuracy`, and the candidate turns wrong
    ones right with probability lift/(1 - accuracy). Both sides then flip units, as any text does to some
    answers, so that the outcome of a share `churn` of the units differs between two texts of equal truth:
    2f(1-f) = churn, churn ≤ .5. Without a lift the two sides are exchangeable.
    """
    random = seeded("power", *seed)
    gain = lift / (1 - accuracy) if accuracy < 1 else 0.0
    flip = (1 - sqrt(1 - 2 * churn)) / 2

    def seen(truth: Outcomes) -> list[bool]:
        return [right != (random.random() < flip) for right in truth]

    for _ in range(runs):
        truth = [random.random() < accuracy for _ in range(n)]
        better = [right or random.random() < gain for right in truth]
        yield seen(truth), seen(better)


def smallest_lift(
    n: int, accuracy: float, churn: float, config: Gate, power: float, runs: int, seed: tuple[object, ...]
) -> float | None:
    """Smallest lift, in steps of .01, that the gate accepts with probability `power`; None: none does."""
    low, high = 0, round((1 - accuracy) / LIFT_STEP)
    if not _finds(n, accuracy, high, churn, config, power, runs, seed):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _finds(n, accuracy, middle, churn, config, power, runs, seed):
            high = middle
        else:
            low = middle
    return round(high * LIFT_STEP, 6)


def _finds(
    n: int,
    accuracy: float,
    steps: int,
    churn: float,
    config: Gate,
    power: float,
    runs: int,
    seed: tuple[object, ...],
) -> bool:
    pairs = simulated(n, accuracy, steps * LIFT_STEP, churn, runs, (*seed, steps))
    return gate_rates(pairs, config, seed).accepted >= power


def wins_needed(threshold: float, config: Gate) -> int:
    """Fewest wins without a loss that reach the evidence `threshold` and `gate.min_discordant`."""
    wins = config.min_discordant
    while e_value(wins, 0) < threshold:
        wins += 1
    return wins
