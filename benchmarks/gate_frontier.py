"""What a budget of student calls buys: true accuracy and useless edits, by acceptance rule (SPEC §6.1).

    python -m benchmarks.gate_frontier > benchmarks/gate_frontier.md

One task type of the known-truth world (four rules; a candidate is useful, useless or harmful with
probability .15, .65, .20; start .55; churn .05), simulated with that world's law in arrays. Rollouts and
diagnosis of a candidate cost 20 calls; the gate costs what it asks: units of the candidate, and those of the
baseline that are not known by content. `mean is higher` asks the whole pool. Our runs end an epoch after
every ten candidates: full validation, where what is not known is paid, and probations.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from benchmarks.gate_worlds import Array
from skillmake.config.models import Gate, Slow
from skillmake.evidence import e_value
from skillmake.gate import Decision, GateNumbers, Tally, Terms, run_gate
from skillmake.ladder import build_ladder
from skillmake.power import pool
from skillmake.rehearsal.config import WorldConfig
from skillmake.slow import probation_outcome
from skillmake.units import Unit

CALLS_PER_CANDIDATE, CANDIDATES_PER_EPOCH, POPULATION, RUNS = 20, 10, 1000, 100
SIZES, BUDGETS = (40, 80, 200), (1000, 2000, 4000)
WORLD = WorldConfig(rules_per_type=4, rules_per_unit_max=1, base_accuracy=0.55, skill_gain=0.45)
NO_PROBATION = Slow(e_rollback=1e9, e_keep=0, e_drop=0)
# The acceptance rule of SPEC's reference: provisional at 2, no early futility, no second look
ARMS: dict[str, tuple[Gate, Slow] | None] = {
    "mean is higher": None,
    "ours": (Gate(), Slow()),
    "ours, carrying": (Gate(carry_steps=2), Slow()),
    "ours, no early futility": (Gate(futility=0), Slow()),
    "ours, SPEC's probation": (Gate(), Slow(e_keep=0, e_drop=0)),
    "ours, no probation": (Gate(), NO_PROBATION),
    "e ≥ 2 at once": (Gate(e_provisional=2, futility=0, rung=20), NO_PROBATION),
    "strict: e ≥ 20 only": (Gate(e_provisional=20, futility=0), NO_PROBATION),
}


@dataclass(frozen=True)
class Text:
    """A skill: rules it knows, units each harmful sentence turns wrong, edits by kind."""

    known: frozenset[int] = frozenset()
    harm: Array = field(default_factory=lambda: np.zeros(0, bool))
    edits: tuple[str, ...] = ()


class World:
    """Units of one task type, the first n of them the validation pool; the rest measures truth."""

    def __init__(self, n: int, seed: int) -> None:
        self.n, self.rng = n, np.random.default_rng([5, n, seed])
        size = n + POPULATION
        self.need = np.where(
            self.rng.random(size) < WORLD.base_accuracy, -1, self.rng.integers(0, WORLD.rules_per_type, size)
        )

    def right(self, text: Text) -> Array:
        """Truth of every unit, without churn."""
        able = np.isin(self.need, [-1, *text.known])
        return able & ~text.harm if text.harm.size else able

    def accuracy(self, text: Text) -> float:
        return float(self.right(text)[self.n :].mean())

    def outcomes(self, text: Text) -> Array:
        """What the validation pool shows: two texts differ where exactly one of them flips."""
        flip = (1 - (1 - 2 * WORLD.churn) ** 0.5) / 2
        return self.right(text)[: self.n] ^ (self.rng.random(self.n) < flip)

    def propose(self, text: Text) -> Text:
        """A useful edit teaches a rule that is not known yet; with none left it is useless."""
        draw = self.rng.random()
        left = [rule for rule in range(WORLD.rules_per_type) if rule not in text.known]
        if draw < WORLD.useful_share and left:
            rule = int(self.rng.choice(left))
            return replace(text, known=text.known | {rule}, edits=(*text.edits, "useful"))
        if WORLD.useful_share <= draw < WORLD.useful_share + WORLD.harmful_share:
            harm = self.rng.random(len(self.need)) < WORLD.harm_rate
            before = text.harm if text.harm.size else np.zeros(len(self.need), bool)
            return replace(text, harm=before | harm, edits=(*text.edits, "harmful"))
        return replace(text, edits=(*text.edits, "useless"))


@dataclass
class Side:
    """A text with its outcomes on the pool and which of them are paid."""

    text: Text
    outcomes: Array
    paid: Array

    def ask(self, places: Sequence[int]) -> int:
        """Calls for the outcomes at these places that are not known."""
        new = len(places) - int(self.paid[places].sum()) if len(places) else 0
        self.paid[places] = True
        return new


@dataclass
class Carried:
    """A candidate that goes on with fresh units."""

    side: Side
    prior: Tally = field(default_factory=Tally)
    used: frozenset[str] = frozenset()
    steps: int = 0


class Run:
    """One training with a budget of calls."""

    def __init__(self, world: World, gate: Gate, slow: Slow) -> None:
        self.world, self.gate, self.slow = world, gate, slow
        self.units = pool(world.n)
        self.place = {unit.unit_id: k for k, unit in enumerate(self.units)}
        self.now = self._side(Text())
        self.spent = self.now.ask(range(world.n))
        self.probation: tuple[Side, int] | None = None
        self.waiting: Carried | None = None

    def train(self, budget: int) -> Text:
        """The text when the budget is spent; a step that does not fit any more is not taken."""
        tried = 0
        while self.spent + CALLS_PER_CANDIDATE < budget:
            self.step(tried, budget)
            tried += 1
            if tried % CANDIDATES_PER_EPOCH == 0:
                self.epoch_end()
        self.epoch_end()
        return self.now.text

    def step(self, number: int, budget: int) -> None:
        carried = self.waiting or Carried(self._side(self.world.propose(self.now.text)))
        self.waiting = None
        self.spent += CALLS_PER_CANDIDATE
        free = [unit for unit in self.units if unit.unit_id not in carried.used]
        ladder = build_ladder(free, (), {}, self._known(), self.gate, (number,))
        fresh_left = len(free) > sum(map(len, ladder))
        terms = Terms(
            self.gate.e_confirm, carried.prior, fresh_left and carried.steps < self.gate.carry_steps
        )
        decision = run_gate(
            ladder,
            self._draw(self.now),
            self._draw(carried.side),
            self.gate,
            known=self._known(),
            terms=terms,
        )
        if self.spent <= budget:
            self._settle(carried, decision)

    def epoch_end(self) -> None:
        """Full validation, then the probation, as `slow.settle_probations` does it."""
        self.spent += self.now.ask(range(self.world.n))
        if self.probation is None:
            return
        anchor, lasted = self.probation
        before, after = anchor.outcomes[anchor.paid], self.now.outcomes[anchor.paid]
        up, down = int((after & ~before).sum()), int((before & ~after).sum())
        flips = GateNumbers(
            wins=up, losses=down, n=len(before), e=e_value(up, down), e_harm=e_value(down, up)
        )
        outcome = probation_outcome(flips, self.slow, lasted + 1)
        self.probation = (anchor, lasted + 1) if outcome == "open" else None
        if outcome == "rolled_back":
            self.now, self.waiting = anchor, None

    def _settle(self, carried: Carried, decision: Decision) -> None:
        if decision.stop_reason == "carried":
            n = decision.numbers
            used = carried.used | {row.unit_id for row in decision.evidence}
            prior = Tally(wins=n.wins, losses=n.losses, n=n.n)
            self.waiting = Carried(carried.side, prior, used, carried.steps + 1)
        if decision.action == "accept_provisional" and self.probation is None:
            self.probation = (replace(self.now, paid=self.now.paid.copy()), 0)
        if decision.action in ("accept", "accept_provisional"):
            self.now = carried.side

    def _side(self, text: Text) -> Side:
        return Side(text, self.world.outcomes(text), np.zeros(self.world.n, bool))

    def _draw(self, side: Side):  # type: ignore[no-untyped-def]
        def draw(asked: Sequence[Unit]) -> list[float | None]:
            places = [self.place[unit.unit_id] for unit in asked]
            self.spent += side.ask(places)
            return [float(side.outcomes[place]) for place in places]

        return draw

    def _known(self) -> dict[str, bool]:
        now = self.now
        return {unit.unit_id: bool(now.outcomes[k]) for k, unit in enumerate(self.units) if now.paid[k]}


def mean_is_higher(world: World, budget: int) -> Text:
    """Accept when more of the pool is right; the whole pool is asked each time."""
    now, spent = Text(), world.n
    outcomes = world.outcomes(now)
    while spent + CALLS_PER_CANDIDATE + world.n <= budget:
        candidate = world.propose(now)
        seen = world.outcomes(candidate)
        spent += CALLS_PER_CANDIDATE + world.n
        if seen.sum() > outcomes.sum():
            now, outcomes = candidate, seen
    return now


def cell(arm: str, n: int, budget: int) -> str:
    """Mean over the runs: true accuracy ± its standard error; useful, useless and harmful edits."""
    rows = []
    for seed in range(RUNS):
        world, setting = World(n, seed), ARMS[arm]
        text = Run(world, *setting).train(budget) if setting else mean_is_higher(world, budget)
        rows.append([world.accuracy(text), *(text.edits.count(k) for k in ("useful", "useless", "harmful"))])
    means, error = np.mean(rows, axis=0), np.std(rows, axis=0)[0] / RUNS**0.5
    return f"{means[0]:.3f} ± {error:.3f}; {means[1]:.1f} / {means[2]:.2f} / {means[3]:.2f}"


def report() -> Iterator[str]:
    """Lines of the Markdown report."""
    yield "# What a budget buys"
    yield ""
    yield f"`python -m benchmarks.gate_frontier`; mean of {RUNS} runs. True accuracy of the skill ± standard"
    yield "error; useful / useless / harmful edits in it. Budgets are student calls."
    with ProcessPoolExecutor(2) as workers:
        for n in SIZES:
            yield ""
            yield f"## {n} validation units"
            yield ""
            yield "| rule | " + " | ".join(f"{budget:,} calls" for budget in BUDGETS) + " |"
            yield "| --- |" + " --- |" * len(BUDGETS)
            grid = list(product(ARMS, BUDGETS))
            cells = workers.map(cell, [a for a, _ in grid], [n] * len(grid), [b for _, b in grid])
            for arm in ARMS:
                yield f"| {arm} | " + " | ".join(next(cells) for _ in BUDGETS) + " |"


if __name__ == "__main__":
    for line in report():
        print(line, flush=True)
