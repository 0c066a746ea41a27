"""Simulated candidates and the rules that peers accept them by (SPEC §6.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from skillmake.config.models import Gate, Slow
from skillmake.evidence import e_value
from skillmake.gate import GateNumbers
from skillmake.power import play
from skillmake.slow import probation_outcome

Array = np.ndarray


@dataclass(frozen=True)
class World:
    """n validation units, `accuracy` of them right in truth.

    `churn`: share of units whose outcome differs between any two texts; `noise`: chance that a draw at
    temperature > 0 is flipped, 0 at temperature 0.
    """

    n: int
    accuracy: float
    churn: float
    noise: float

    def pair(self, rng: Generator, lift: float, *, same_text: bool = False) -> tuple[Array, Array]:
        """Observed outcomes of the baseline and of a candidate with a true lift."""
        truth = rng.random(self.n) < self.accuracy
        return self.seen(rng, truth, lift, same_text=same_text)

    def seen(
        self, rng: Generator, truth: Array, lift: float, *, same_text: bool = False
    ) -> tuple[Array, Array]:
        flips = [self.flips(rng), self.flips(rng)]
        if same_text:
            flips[1] = flips[0]
        better = truth | (rng.random(self.n) < lift / max(1e-9, 1 - self.accuracy))
        sides = (truth ^ flips[0], better ^ flips[1])
        return tuple(side ^ (rng.random(self.n) < self.noise) for side in sides)  # type: ignore[return-value]

    def flips(self, rng: Generator) -> Array:
        """Two texts differ where exactly one of them flips: 2f(1-f) = churn."""
        return rng.random(self.n) < (1 - (1 - 2 * self.churn) ** 0.5) / 2


@dataclass(frozen=True)
class Verdict:
    """What a rule says about a candidate, and the units it asked the candidate on."""

    accepted: bool
    units: int
    confirmed: bool = False
    survives: bool = False


Rule = Callable[[Array, Array, Generator], Verdict]


def ours(gate: Gate, slow: Slow, p_hat: dict[str, float] | None = None) -> Rule:
    """The gate of the training, and the probation of what it lets in provisionally."""

    def rule(baseline: Array, candidate: Array, rng: Generator) -> Verdict:
        seed = (int(rng.integers(2**31)),)
        decision = play(baseline.tolist(), candidate.tolist(), gate, seed, p_hat)
        accepted = decision.action in ("accept", "accept_provisional")
        confirmed = decision.action == "accept"
        up, down = int((candidate & ~baseline).sum()), int((baseline & ~candidate).sum())
        flips = GateNumbers(
            wins=up, losses=down, n=len(baseline), e=e_value(up, down), e_harm=e_value(down, up)
        )
        # The same text gives the same answers at every further validation
        kept = probation_outcome(flips, slow, slow.probation_epochs) == "confirmed"
        return Verdict(accepted, len(decision.evidence), confirmed, confirmed or (accepted and kept))

    return rule


def mean_is_higher(baseline: Array, candidate: Array, _rng: Generator) -> Verdict:
    return _peer(candidate.mean() > baseline.mean(), len(baseline))


def minibatch_of_3(baseline: Array, candidate: Array, rng: Generator) -> Verdict:
    chosen = rng.choice(len(baseline), 3, replace=False)
    return _peer(candidate[chosen].sum() > baseline[chosen].sum(), 3)


def one_standard_error(baseline: Array, candidate: Array, _rng: Generator) -> Verdict:
    """Paired: the mean difference is above one standard error of itself."""
    difference = candidate.astype(int) - baseline.astype(int)
    error = difference.std(ddof=1) / len(difference) ** 0.5
    return _peer(difference.mean() > error, len(baseline))


PEERS: dict[str, Rule] = {
    "mean is higher": mean_is_higher,
    "minibatch of 3": minibatch_of_3,
    "one standard error": one_standard_error,
}


def _peer(accepted: bool, units: int) -> Verdict:
    return Verdict(bool(accepted), units, bool(accepted), bool(accepted))


@dataclass(frozen=True)
class Rates:
    """Shares over `runs` candidates, and mean units."""

    runs: int
    accepted: float
    confirmed: float
    survives: float
    units: float

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> "Rates":
        columns = np.array([[v.accepted, v.confirmed, v.survives, v.units] for v in verdicts], float)
        return cls(len(verdicts), *columns.mean(axis=0).tolist())

    @property
    def provisional(self) -> float:
        return self.accepted - self.confirmed
