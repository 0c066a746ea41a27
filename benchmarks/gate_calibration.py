"""How often the gate is wrong, what it costs and what it finds, next to the rules of peers (SPEC §6.1).

    python -m benchmarks.gate_calibration > benchmarks/gate_calibration.md

Four minutes on two cores. Every number follows from the seeds; the standard error of a share p over
the runs of a cell is sqrt(p(1-p)/runs).
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np

from benchmarks.gate_worlds import PEERS, Rates, Rule, World, ours
from skillmake.config.models import Gate, Slow
from skillmake.power import pool

RUNS, POOLS, REPEATS = 2000, 100, 20
ACCURACIES, CHURNS, NOISES = (0.5, 0.6, 0.7, 0.8, 0.9), (0.0, 0.05, 0.1), (0.0, 0.1)
LIFTS = (0.08, 0.12, 0.15)
RULES: dict[str, Rule] = {"ours": ours(Gate(), Slow()), **PEERS}


def rates(rule: str, world: World, lift: float, *, same_text: bool = False) -> Rates:
    """`RUNS` candidates, each with a pool of its own; every rule sees the same ones."""
    rng = np.random.default_rng([1, world.n, *_key(world), round(lift * 100), same_text])
    pairs = [world.pair(rng, lift, same_text=same_text) for _ in range(RUNS)]
    draws = np.random.default_rng(2)
    return Rates.of([RULES[rule](*pair, draws) for pair in pairs])


def repeated(world: World) -> Rates:
    """No better candidates, `REPEATS` on each pool with one and the same baseline."""
    rng, rule = np.random.default_rng([3, *_key(world)]), RULES["ours"]
    verdicts = []
    for _ in range(POOLS):
        truth = rng.random(world.n) < world.accuracy
        baseline = world.seen(rng, truth, 0)[0]
        verdicts += [rule(baseline, world.seen(rng, truth, 0)[1], rng) for _ in range(REPEATS)]
    return Rates.of(verdicts)


def ordered(world: World, *, warm: bool, selected: bool) -> Rates:
    """No better candidates on a ladder in plain seeded order, or one that prefers informative units.

    `warm`: p̂ of three epochs of outcomes; `selected`: the baseline is the luckiest of five texts that are
    equally good, as after some accepts.
    """
    rng = np.random.default_rng([4, *_key(world), selected])
    verdicts = []
    for _ in range(RUNS):
        truth = rng.random(world.n) < world.accuracy
        past = np.mean([world.seen(rng, truth, 0)[0] for _ in range(3)], axis=0)
        p_hat = {unit.unit_id: float(p) for unit, p in zip(pool(world.n), past, strict=True)}
        texts = [world.seen(rng, truth, 0)[0] for _ in range(5 if selected else 1)]
        baseline = max(texts, key=lambda text: text.sum())
        rule = ours(Gate(), Slow(), p_hat if warm else None)
        verdicts.append(rule(baseline, world.seen(rng, truth, 0)[1], rng))
    return Rates.of(verdicts)


def row(world: World) -> str:
    """One line of the main table."""
    null = {name: rates(name, world, 0) for name in RULES}
    mine = null["ours"]
    same = rates("ours", world, 0, same_text=True)
    found = [rates("ours", world, lift) for lift in LIFTS]
    peers = [f"{null[name].accepted:.3f}" for name in PEERS]
    cells = [
        f"{world.noise:g}",
        f"{world.churn:g}",
        f"{world.accuracy:g}",
        f"{mine.confirmed:.4f}",
        f"{mine.provisional:.3f}",
        f"{mine.survives:.3f}",
        *peers,
        f"{same.units:.1f}",
        f"{mine.units:.1f}",
        f"{found[1].units:.1f}",
        *(f"{rate.accepted:.2f}" for rate in found),
    ]
    return "| " + " | ".join(cells) + " |"


def peer_row(name: str, world: World) -> str:
    null = rates(name, world, 0)
    found = [rates(name, world, lift) for lift in LIFTS]
    powers = " | ".join(f"{rate.accepted:.2f}" for rate in found)
    return f"| {name} | {null.accepted:.3f} | {null.survives:.3f} | {null.units:.1f} | {powers} |"


def order_row(world: World) -> str:
    places = product((False, True), (False, True))
    found = [ordered(world, warm=warm, selected=selected) for selected, warm in places]
    cells = [f"{f.confirmed:.4f} / {f.provisional:.3f} / {f.survives:.3f}" for f in found]
    return f"| {world.noise:g} | {world.churn:g} | {world.accuracy:g} | " + " | ".join(cells) + " |"


def repeated_row(world: World) -> str:
    found = repeated(world)
    cells = (f"{found.confirmed:.4f}", f"{found.provisional:.3f}", f"{found.survives:.3f}")
    return f"| {world.noise:g} | {world.churn:g} | {world.accuracy:g} | " + " | ".join(cells) + " |"


HEAD = """\
# The gate, calibrated

`python -m benchmarks.gate_calibration`; {runs} candidates per cell; defaults: {defaults}.
The standard error of a share p is sqrt(p(1-p)/{runs}): .004 at .03.

## 40 validation units

A candidate that is no better (another text, the same truth): how often our gate confirms it, lets it in
provisionally, and what survives its probation; how often peers accept it. Units asked of a no-op (the same
text), of a candidate that is no better, of one at +12 points. Power of our gate at three lifts. Noise 0 is
temperature 0.

| noise | churn | accuracy | false confirm | false provisional | false survivors \
| mean higher | minibatch 3 | 1 SE | units no-op | units no better | units +12 | +8 | +12 | +15 |"""
PEER_HEAD = """
## The rules side by side (accuracy .6, churn .05, temperature 0)

| rule | false accept | false survivors | units | power +8 | +12 | +15 |"""
ORDER_HEAD = """
## Ladder cold and warm, 80 units; the baseline one text, or the luckiest of five

False confirm / false provisional / false survivors.

| noise | churn | accuracy | cold | warm | cold, selected | warm, selected |"""
REPEATED_HEAD = """
## {repeats} candidates that are no better on each of {pools} pools with one baseline

| noise | churn | accuracy | false confirm | false provisional | false survivors |"""


def report() -> Iterator[str]:
    """Lines of the Markdown report."""
    worlds = [World(40, a, c, t) for t, c, a in product(NOISES, CHURNS, ACCURACIES)]
    shaky = [World(40, a, 0.1, t) for t in NOISES for a in ACCURACIES]
    typical = World(40, 0.6, 0.05, 0.0)
    with ProcessPoolExecutor(2) as workers:
        yield HEAD.format(runs=RUNS, defaults=_defaults())
        yield "|" + " ---: |" * 15
        yield from workers.map(row, worlds)
        yield PEER_HEAD
        yield "| --- |" + " ---: |" * 6
        yield from workers.map(peer_row, RULES, [typical] * len(RULES))
        yield ORDER_HEAD
        yield "|" + " ---: |" * 7
        yield from workers.map(order_row, [replace(world, n=80) for world in shaky])
        yield REPEATED_HEAD.format(repeats=REPEATS, pools=POOLS)
        yield "|" + " ---: |" * 6
        yield from workers.map(repeated_row, shaky)


def _defaults() -> str:
    gate, slow = Gate(), Slow()
    shown = ("n_max", "rung", "e_confirm", "e_provisional", "min_discordant", "futility")
    pairs = [(f"gate.{name}", getattr(gate, name)) for name in shown]
    pairs += [(f"slow.{name}", getattr(slow, name)) for name in ("e_rollback", "e_keep", "e_drop")]
    return ", ".join(f"{name} {value:g}" for name, value in pairs)


def _key(world: World) -> list[int]:
    return [round(1000 * x) for x in (world.accuracy, world.churn, world.noise)]


if __name__ == "__main__":
    for line in report():
        print(line, flush=True)
