"""Draws for tests of the gate."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillmake.config.models import Gate
from skillmake.gate import Decision, Draw, run_gate
from skillmake.units import Unit
from tests.worlds import units

EVERYONE = units(24)


@dataclass(frozen=True)
class Case:
    """Outcomes of both sides by unit, dealt to rungs of `config.rung` units; what is known beforehand."""

    baseline: tuple[float | None, ...]
    candidate: tuple[float | None, ...]
    known: frozenset[int]
    config: Gate

    @property
    def ladder(self) -> list[list[Unit]]:
        n, rung = len(self.baseline), self.config.rung
        return [EVERYONE[k : min(k + rung, n)] for k in range(0, n, rung)]

    def climb(self, in_flight: int = 1) -> Decision:
        known = {f"u{k:02d}": self.baseline[k] == 1 for k in self.known}
        return run_gate(
            self.ladder,
            drawn(self.baseline),
            drawn(self.candidate),
            self.config,
            known=known,
            in_flight=in_flight,
        )

    def ends(self) -> set[int]:
        """Units used at the end of each rung."""
        n = len(self.baseline)
        return {min(k + self.config.rung, n) for k in range(0, n, self.config.rung)}


def drawn(outcomes: Sequence[float | None], asked: list[Unit] | None = None) -> Draw:
    def draw(wanted: Sequence[Unit]) -> list[float | None]:
        if asked is not None:
            asked.extend(wanted)
        return [outcomes[number(unit.unit_id)] for unit in wanted]

    return draw


def number(unit_id: str) -> int:
    return int(unit_id[1:])
