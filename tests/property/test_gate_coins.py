"""The bounds of the gate on fair coins, over all of their sequences."""

from collections.abc import Callable
from itertools import product

import pytest

from skillmake.config.models import Gate
from skillmake.evidence import e_value
from tests.gates import Case


def coins(depth: int) -> list[tuple[bool, ...]]:
    return list(product((True, False), repeat=depth))


def test_the_e_process_of_fair_coins_has_mean_one_at_every_depth() -> None:
    """All 2^n ways up to depth 8; e of the library. A coin against the candidate has a mean below one."""
    for depth in range(9):
        ways = coins(depth)
        values = [e_value(sum(way), depth - sum(way)) for way in ways]
        assert sum(values) / len(ways) == pytest.approx(1)
        for chance in (0.2, 0.4):
            weights = [chance ** sum(way) * (1 - chance) ** (depth - sum(way)) for way in ways]
            mean = sum(w * e for w, e in zip(weights, values, strict=True))
            assert mean < 1 if depth else mean == 1


@pytest.mark.parametrize("bound", [1.5, 2.0, 4.0, 20.0])
def test_fair_coins_ever_reach_the_bound_at_most_once_in_bound_times(bound: float) -> None:
    reached = sum(any(e_value(sum(way[:n]), n - sum(way[:n])) >= bound for n in range(9)) for way in coins(8))
    assert reached / 2**8 <= 1 / bound


@pytest.mark.parametrize("rung", [1, 2, 3, 8])
@pytest.mark.parametrize(("e_confirm", "e_provisional"), [(20.0, 2.0), (4.0, 1.5), (2.0, 2.0)])
def test_the_gate_accepts_fair_coins_within_its_bounds(
    rung: int, e_confirm: float, e_provisional: float
) -> None:
    """All 2^8 ladders of eight units that are won or lost by a fair coin, with the least other demands."""
    config = Gate(
        rung=rung,
        e_confirm=e_confirm,
        e_provisional=e_provisional,
        min_discordant=1,
        w_net_min=0,
        n_max=8,
        futility=0,
    )
    side: Callable[[bool], float] = lambda won: 1.0 if won else 0.0
    actions = [
        Case(tuple(side(not w) for w in way), tuple(map(side, way)), frozenset(), config).climb().action
        for way in coins(8)
    ]
    assert actions.count("accept") / 2**8 <= 1 / e_confirm
    accepted = actions.count("accept") + actions.count("accept_provisional")
    assert 0 < accepted / 2**8 <= 1 / e_provisional
