"""The gate: is the candidate better than the current skill on this task type? (SPEC §6)

Pure: outcomes come from two callbacks, so the same code decides in training, calibration and tests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from skillmake.artifacts import Artifact
from skillmake.config.models import Gate
from skillmake.evidence import confidence_sequence, e_value, predictive, shrunk_delta
from skillmake.units import Unit

Action = Literal["accept", "accept_provisional", "reject", "inconclusive"]
StopReason = Literal[
    "confirmed", "provisional", "futile", "harmful", "exhausted", "errors", "no_units", "carried"
]
# Outcome of each unit, in the order given: share of its draws that were right, None after an error.
Draw = Callable[[Sequence[Unit]], list[float | None]]


class EvidenceRow(Artifact):
    """One unit on one rung. `outcome` is empty when the unit was excluded because of an error."""

    unit_id: str
    rung: int
    position: int
    baseline: float | None
    candidate: float | None
    outcome: Literal["win", "loss", "tie", "error"]


def evidence_row(
    unit: Unit, rung: int, position: int, baseline: float | None, candidate: float | None
) -> EvidenceRow:
    """What the two outcomes of a unit say of the candidate."""
    outcome: Literal["win", "loss", "tie", "error"] = "tie"
    if baseline is None or candidate is None:
        outcome = "error"
    elif baseline != candidate:
        outcome = "win" if candidate > baseline else "loss"
    return EvidenceRow(
        unit_id=unit.unit_id,
        rung=rung,
        position=position,
        baseline=baseline,
        candidate=candidate,
        outcome=outcome,
    )


class Tally(Artifact):
    """Evidence that a carried candidate brings from earlier ladders, in units."""

    wins: int = 0
    losses: int = 0
    n: int = 0


@dataclass(frozen=True)
class Terms:
    """What a test starts from and what it must reach.

    `confirm_at`: evidence that confirms; `prior`: evidence of a carried candidate; `may_carry`: there are
    steps and fresh units to go on with when it comes close.
    """

    confirm_at: float
    prior: Tally = field(default_factory=Tally)
    may_carry: bool = False


class GateNumbers(Artifact):
    """W, L, units used, evidence and lift of a gate, as SPEC §6 defines them."""

    wins: int = 0
    losses: int = 0
    n: int = 0
    errors: int = 0
    e: float = 1.0
    e_harm: float = 1.0
    delta: float = 0.0
    delta_shrunk: float = 0.0


class Decision(Artifact):
    """What the gate says, with all it saw.

    `confirm_at`, `provisional_at`: evidence that was asked for; `delta_ci`: confidence sequence of the lift
    at the last whole rung; `carried`: it came close and goes on with fresh units at a later step. `shadow`:
    with `gate.shadow`, the rest of the rung in which the gate stopped; it decides nothing.
    """

    action: Action
    stop_reason: StopReason
    numbers: GateNumbers
    confirm_at: float
    provisional_at: float
    delta_ci: tuple[float, float] | None = None
    e_path: tuple[float, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    shadow: tuple[EvidenceRow, ...] = ()


def run_gate(
    ladder: Sequence[Sequence[Unit]],
    baseline: Draw,
    candidate: Draw,
    config: Gate,
    *,
    known: Mapping[str, bool] | None = None,
    in_flight: int = 1,
    terms: Terms | None = None,
    tell: Callable[[int, GateNumbers], None] | None = None,
) -> Decision:
    """Climb the ladder rung by rung and decide.

    `known`: baseline outcomes that need no call, by unit; they only sharpen the bound on possible wins.
    `in_flight`: units asked for together. Outcomes are read one by one in a fixed order and what lies
    behind a stop is ignored, so the decision does not depend on it.
    `tell`: hears the rung and the numbers so far, only to be shown.
    """
    climb = _Climb(ladder, config, known or {}, terms or Terms(config.e_confirm))
    if not any(ladder):
        return climb.decide("reject", "no_units")
    for number, rung in enumerate(ladder):
        outcomes = dict(zip((u.unit_id for u in rung), baseline(rung), strict=True))
        climb.baselines(outcomes)
        order = sorted(rung, key=lambda unit: outcomes[unit.unit_id] in (1.0, None))  # no win is possible
        for start in range(0, len(order), in_flight):
            block = order[start : start + in_flight]
            for unit, outcome in zip(block, candidate(block), strict=True):
                climb.add(unit, number, outcomes[unit.unit_id], outcome)
                if climb.hopeless():
                    stopped = climb.decide("reject", "futile")
                    return _shadowed(stopped, order, outcomes, candidate) if config.shadow else stopped
            if tell is not None:
                tell(number, climb.numbers())
        if (decision := climb.at_rung_end()) is not None:
            return decision
    return climb.at_top()


def _shadowed(
    decision: Decision, order: Sequence[Unit], baseline: Mapping[str, float | None], candidate: Draw
) -> Decision:
    """The decision with the units of its last rung, `order`, that it did not wait for."""
    rung, position = decision.evidence[-1].rung, len(decision.evidence)
    rest = order[sum(row.rung == rung for row in decision.evidence) :]
    shadow = tuple(
        evidence_row(unit, rung, position + k, baseline[unit.unit_id], outcome)
        for k, (unit, outcome) in enumerate(zip(rest, candidate(rest), strict=True))
    )
    return decision.model_copy(update={"shadow": shadow})


class _Climb:
    """Counts of one climb."""

    def __init__(
        self, ladder: Sequence[Sequence[Unit]], config: Gate, known: Mapping[str, bool], terms: Terms
    ) -> None:
        self._config, self._terms = config, terms
        self._left = {unit.unit_id for rung in ladder for unit in rung}
        self._open = {unit_id: not right for unit_id, right in known.items() if unit_id in self._left}
        self._unknown = self._left - set(self._open)
        self._seen_wrong = [not right for right in known.values()]
        self._rows: list[EvidenceRow] = []
        self._path: list[float] = []
        self._ci: tuple[float, float] | None = None
        self._wins, self._losses = terms.prior.wins, terms.prior.losses
        self._tried = self._errors = 0

    def baselines(self, outcomes: Mapping[str, float | None]) -> None:
        for unit_id, outcome in outcomes.items():
            self._open[unit_id] = outcome is not None and outcome < 1
        self._seen_wrong += [self._open[unit_id] for unit_id in outcomes if unit_id in self._unknown]
        self._unknown -= set(outcomes)

    def add(self, unit: Unit, rung: int, baseline: float | None, candidate: float | None) -> None:
        row = evidence_row(unit, rung, len(self._rows), baseline, candidate)
        self._errors += row.outcome == "error"
        self._wins += row.outcome == "win"
        self._losses += row.outcome == "loss"
        self._left.remove(unit.unit_id)
        could_win = self._open.pop(unit.unit_id)
        self._tried += could_win and row.outcome != "error"
        self._rows.append(row)

    def hopeless(self) -> bool:
        """Is an accept out of reach, or too unlikely for the calls that it still costs?

        Out of reach: even a win on every unit that can still be one is not enough. Too unlikely: the
        predictive probability of enough wins is below `gate.futility`. A stop that can only reject never
        raises the rate of false accepts, so it may look at the outcomes inside a rung.
        """
        if not self._left:
            return False
        open_units = sum(self._open.values())
        needed = self._needed(open_units + len(self._unknown))
        if needed is None:
            return True
        share = sum(self._seen_wrong) / len(self._seen_wrong) if self._seen_wrong else 1.0
        chances = open_units + round(share * len(self._unknown))
        won = self._wins - self._terms.prior.wins
        return predictive(chances, won, self._tried, needed) < self._config.futility

    def _needed(self, most: int) -> int | None:
        """Fewest further wins, of at most `most`, with which the candidate could be accepted or carried."""
        return next((x for x in range(most + 1) if self._acceptable(self._wins + x)), None)

    def _acceptable(self, wins: int) -> bool:
        losses = max(self._losses, self._config.min_discordant - wins)
        e = e_value(wins, losses)
        by_net = e >= self._config.e_provisional and wins - losses >= self._config.w_net_min
        carried = self._terms.may_carry and e_value(wins, self._losses) > 1
        return by_net or carried or e >= self._terms.confirm_at

    def at_rung_end(self) -> Decision | None:
        numbers = self.numbers()
        self._path.append(numbers.e)
        low, high = confidence_sequence(numbers.wins, numbers.losses, numbers.n)
        self._ci = (round(low, 6), round(high, 6))
        if self._too_many_errors():
            return self.decide("inconclusive", "errors")
        if numbers.e >= self._terms.confirm_at and self._sound(numbers):
            return self.decide("accept", "confirmed")
        if numbers.e_harm >= self._config.e_confirm:
            return self.decide("reject", "harmful")
        return None

    def at_top(self) -> Decision:
        numbers = self.numbers()
        if (
            numbers.e >= self._config.e_provisional
            and numbers.wins - numbers.losses >= self._config.w_net_min
            and self._sound(numbers)
        ):
            return self.decide("accept_provisional", "provisional")
        if self._terms.may_carry and 1 < numbers.e < self._config.e_provisional:
            return self.decide("inconclusive", "carried")
        return self.decide("reject", "exhausted")

    def decide(self, action: Action, reason: StopReason) -> Decision:
        if action == "reject" and self._too_many_errors():
            action, reason = "inconclusive", "errors"
        return Decision(
            action=action,
            stop_reason=reason,
            numbers=self.numbers(),
            confirm_at=round(self._terms.confirm_at, 6),
            provisional_at=self._config.e_provisional,
            delta_ci=self._ci,
            e_path=tuple(self._path),
            evidence=tuple(self._rows),
        )

    def numbers(self) -> GateNumbers:
        n = self._terms.prior.n + len(self._rows) - self._errors
        wins, losses = self._wins, self._losses
        return GateNumbers(
            wins=wins,
            losses=losses,
            n=n,
            errors=self._errors,
            e=round(e_value(wins, losses), 6),
            e_harm=round(e_value(losses, wins), 6),
            delta=round((wins - losses) / n, 6) if n else 0.0,
            delta_shrunk=round(shrunk_delta(wins, losses, n, self._config.lambda_dir), 6),
        )

    def _sound(self, numbers: GateNumbers) -> bool:
        enough = numbers.wins + numbers.losses >= self._config.min_discordant
        return enough and numbers.delta_shrunk >= self._config.delta_min

    def _too_many_errors(self) -> bool:
        return self._errors > self._config.guard_err * len(self._rows)
