"""The gate: is the candidate better than the current skill on this task type? (SPEC §6)

Pure: outcomes come from two callbacks, so the same code decides in training, calibration and tests.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from skillmake.artifacts import Artifact
from skillmake.config.models import Gate
from skillmake.evidence import e_value, shrunk_delta
from skillmake.units import Unit

Action = Literal["accept", "accept_provisional", "reject", "inconclusive"]
StopReason = Literal["confirmed", "provisional", "futile", "harmful", "exhausted", "errors", "no_units"]
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
    """What the gate says, with all it saw."""

    action: Action
    stop_reason: StopReason
    numbers: GateNumbers
    e_path: tuple[float, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()


def run_gate(
    ladder: Sequence[Sequence[Unit]],
    baseline: Draw,
    candidate: Draw,
    config: Gate,
    *,
    known: Mapping[str, bool] | None = None,
    in_flight: int = 1,
) -> Decision:
    """Climb the ladder rung by rung and decide.

    `known`: baseline outcomes that need no call, by unit; they only sharpen the bound on possible wins.
    `in_flight`: units asked for together. Outcomes are read one by one in a fixed order and what lies
    behind a stop is ignored, so the decision does not depend on it.
    """
    if not any(ladder):
        return Decision(action="reject", stop_reason="no_units", numbers=GateNumbers())
    climb = _Climb(ladder, config, dict(known or {}))
    for number, rung in enumerate(ladder):
        outcomes = dict(zip((u.unit_id for u in rung), baseline(rung), strict=True))
        climb.baselines(outcomes)
        order = sorted(rung, key=lambda unit: outcomes[unit.unit_id] in (1.0, None))  # no win is possible
        for start in range(0, len(order), in_flight):
            block = order[start : start + in_flight]
            for unit, outcome in zip(block, candidate(block), strict=True):
                climb.add(unit, number, outcomes[unit.unit_id], outcome)
                if climb.hopeless():
                    return climb.decide("reject", "futile")
        if (decision := climb.at_rung_end()) is not None:
            return decision
    return climb.at_top()


class _Climb:
    """Counts of one climb."""

    def __init__(self, ladder: Sequence[Sequence[Unit]], config: Gate, known: dict[str, bool]) -> None:
        self._config = config
        self._open = {unit.unit_id: known.get(unit.unit_id) is not True for rung in ladder for unit in rung}
        self._rows: list[EvidenceRow] = []
        self._path: list[float] = []
        self._wins = self._losses = self._errors = 0

    def baselines(self, outcomes: Mapping[str, float | None]) -> None:
        for unit_id, outcome in outcomes.items():
            self._open[unit_id] = outcome is not None and outcome < 1

    def add(self, unit: Unit, rung: int, baseline: float | None, candidate: float | None) -> None:
        outcome: Literal["win", "loss", "tie", "error"]
        if baseline is None or candidate is None:
            outcome = "error"
            self._errors += 1
        elif candidate > baseline:
            outcome = "win"
            self._wins += 1
        elif candidate < baseline:
            outcome = "loss"
            self._losses += 1
        else:
            outcome = "tie"
        self._open.pop(unit.unit_id)
        self._rows.append(
            EvidenceRow(
                unit_id=unit.unit_id,
                rung=rung,
                position=len(self._rows),
                baseline=baseline,
                candidate=candidate,
                outcome=outcome,
            )
        )

    def hopeless(self) -> bool:
        """Would even a win on every unit that can still be one end below any accept?"""
        wins = self._wins + sum(self._open.values())
        most = e_value(wins, self._losses)
        if wins - self._losses < self._config.w_net_min:  # asked of a provisional accept only
            return most < self._config.e_confirm
        return most < self._config.e_provisional

    def at_rung_end(self) -> Decision | None:
        numbers = self.numbers()
        self._path.append(numbers.e)
        if self._too_many_errors():
            return self.decide("inconclusive", "errors")
        if numbers.e >= self._config.e_confirm and self._sound(numbers):
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
        return self.decide("reject", "exhausted")

    def decide(self, action: Action, reason: StopReason) -> Decision:
        if action == "reject" and self._too_many_errors():
            action, reason = "inconclusive", "errors"
        return Decision(
            action=action,
            stop_reason=reason,
            numbers=self.numbers(),
            e_path=tuple(self._path),
            evidence=tuple(self._rows),
        )

    def numbers(self) -> GateNumbers:
        n = len(self._rows) - self._errors
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
