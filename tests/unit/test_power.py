"""What the configured gate can see: candidates whose fate is known by hand; simulated ones (SPEC §6.1)."""

from math import comb

import pytest

from skillmake.config.models import Gate
from skillmake.power import GateRates, gate_rates, play, simulated, smallest_lift, wins_needed

GATE = Gate(n_max=40, rung=40, e_confirm=20, e_provisional=1.25, min_discordant=3, w_net_min=1)
# (baseline, candidate) on ten units
ALL_WINS = ([False] * 10, [True] * 10)
THREE_WINS = ([False] * 3 + [True] * 7, [True] * 10)
ALL_TIES = ([True] * 10, [True] * 10)


@pytest.mark.parametrize(
    ("threshold", "min_discordant", "wins"),
    [
        (20, 3, 7),  # e(6,0) = 127/7 = 18.1, e(7,0) = 255/8 = 31.9
        (18.1, 3, 6),
        (1.25, 1, 1),  # e(1,0) = 3/2
        (2, 1, 2),  # e(2,0) = 7/3
        (1.25, 3, 3),  # fewer units that tell the two apart are not enough
        (20, 9, 9),
    ],
)
def test_wins_needed_are_the_first_that_reach_the_evidence(
    threshold: float, min_discordant: int, wins: int
) -> None:
    assert wins_needed(threshold, Gate(min_discordant=min_discordant)) == wins


def test_ten_wins_confirm() -> None:
    decision = play(*ALL_WINS, GATE, (1,))
    assert (decision.action, decision.stop_reason) == ("accept", "confirmed")
    assert (decision.numbers.wins, decision.numbers.losses, decision.numbers.n) == (10, 0, 10)
    assert decision.numbers.e == pytest.approx(2047 / 11)


def test_three_wins_are_provisional() -> None:
    decision = play(*THREE_WINS, GATE, (1,))
    assert (decision.action, decision.numbers.wins, decision.numbers.n) == ("accept_provisional", 3, 10)
    assert decision.numbers.e == 15 / 4


def test_a_baseline_that_is_always_right_leaves_nothing_to_win() -> None:
    decision = play(*ALL_TIES, GATE, (1,))
    assert (decision.action, decision.stop_reason, decision.numbers.n) == ("reject", "futile", 1)


def test_at_most_n_max_units_are_played() -> None:
    decision = play([False] * 30, [True] * 30, Gate(n_max=12, rung=12), (1,))
    assert (decision.numbers.wins, decision.numbers.n) == (12, 12)


def test_unit_k_is_right_as_both_lists_say() -> None:
    """e(3,1) = 3!·1!·(1/5! + 1/4! + 1/(2!·3!) + 1/(3!·2!)) = 1.3: accepted, so every unit is asked."""
    baseline = [False, True, False, True, False, False]
    candidate = [True, False, True, True, True, False]
    decision = play(baseline, candidate, GATE, (1,))
    assert decision.numbers.e == pytest.approx(1.3)
    assert [row.outcome for row in sorted(decision.evidence, key=lambda row: row.unit_id)] == [
        "win", "loss", "win", "tie", "win", "tie",
    ]  # fmt: skip


def test_rates_are_shares_of_the_candidates_and_mean_units() -> None:
    rates = gate_rates([ALL_WINS, THREE_WINS, ALL_TIES], GATE, (1,))
    assert rates == GateRates(runs=3, confirmed=0.333333, provisional=0.333333, units=7.0)  # (10+10+1)/3
    assert rates.accepted == 0.666666
    assert gate_rates([], GATE, (1,)) == GateRates(runs=0, confirmed=0, provisional=0, units=0)


# --- simulated candidates ---------------------------------------------------------------
def test_without_lift_and_churn_both_sides_are_the_same_and_nothing_is_accepted() -> None:
    pairs = list(simulated(40, 0.5, 0.0, 0.0, 100, (1,)))
    assert len(pairs) == 100
    assert all(baseline == candidate and len(baseline) == 40 for baseline, candidate in pairs)
    assert gate_rates(pairs, GATE, (1,)).accepted == 0


def test_a_lift_up_to_one_turns_every_unit_right() -> None:
    assert all(all(candidate) for _, candidate in simulated(40, 0.5, 0.5, 0.0, 20, (1,)))
    assert all(all(baseline) for baseline, _ in simulated(40, 1.0, 0.0, 0.0, 20, (1,)))


def test_churn_is_the_share_of_units_that_differ_and_favours_no_side() -> None:
    """At churn .2 of 20,000 units: standard error .003 of the share, and 63 of W - L."""
    sides = [pair for both in simulated(1000, 0.8, 0.0, 0.2, 20, (1,)) for pair in zip(*both, strict=True)]
    wins, losses = sides.count((False, True)), sides.count((True, False))
    assert (wins + losses) / 20_000 == pytest.approx(0.2, abs=0.012)
    assert abs(wins - losses) < 250


def test_lift_is_the_gain_in_accuracy() -> None:
    """20,000 units: standard error .003."""
    pairs = list(simulated(1000, 0.5, 0.2, 0.0, 20, (1,)))
    means = [sum(map(sum, side)) / 20_000 for side in zip(*pairs, strict=True)]
    assert means[0] == pytest.approx(0.5, abs=0.015)
    assert means[1] - means[0] == pytest.approx(0.2, abs=0.015)


def test_a_seed_is_one_set_of_candidates() -> None:
    once, again = (list(simulated(10, 0.5, 0.1, 0.1, 5, (1,))) for _ in range(2))
    assert once == again != list(simulated(10, 0.5, 0.1, 0.1, 5, (2,)))


def test_a_larger_lift_is_accepted_more_often() -> None:
    shares = [
        gate_rates(simulated(40, 0.5, lift, 0.05, 200, (1,)), GATE, (1,)).accepted
        for lift in (0.0, 0.1, 0.2, 0.4)
    ]
    assert shares == sorted(set(shares))
    assert shares[-1] == 1.0


# --- smallest lift ----------------------------------------------------------------------
def test_smallest_lift_is_where_enough_wins_are_likely() -> None:
    """A baseline that is always wrong: wins are binomial in the lift, and three of ten are accepted."""
    exact = next(
        lift / 100
        for lift in range(100)
        if sum(comb(10, k) * (lift / 100) ** k * (1 - lift / 100) ** (10 - k) for k in range(3, 11)) >= 0.8
    )
    assert exact == 0.39
    found = smallest_lift(10, 0.0, 0.0, Gate(futility=0), 0.8, 1000, (1,))
    assert found == pytest.approx(exact, abs=0.02)


def test_more_power_and_fewer_units_need_a_larger_lift() -> None:
    lifts = [
        smallest_lift(n, 0.5, 0.05, GATE, power, 200, (1,)) for n, power in ((40, 0.5), (40, 0.9), (20, 0.9))
    ]
    assert None not in lifts
    assert lifts == sorted(set(lifts), key=float)  # type: ignore[arg-type]


def test_no_lift_is_enough_where_the_units_are_too_few_or_all_right() -> None:
    assert smallest_lift(2, 0.5, 0.0, GATE, 0.8, 50, (1,)) is None  # three must tell the two apart
    assert smallest_lift(40, 1.0, 0.0, GATE, 0.8, 50, (1,)) is None
