"""Evidence: values worked out by hand from the integral of SPEC §6."""

from fractions import Fraction
from math import comb, exp, factorial

import pytest

from skillmake.evidence import (
    confidence_sequence,
    e_value,
    log_capital,
    log_e,
    predictive,
    shrunk_delta,
)


@pytest.mark.parametrize(
    ("wins", "losses", "expected"),
    [
        (0, 0, 1.0),  # ∫ 1
        (1, 0, 1.5),  # ∫ (1+λ)
        (0, 1, 0.5),  # ∫ (1-λ)
        (1, 1, 2 / 3),  # ∫ (1-λ²)
        (2, 0, 7 / 3),  # (2³-1)/3
        (3, 0, 15 / 4),  # (2⁴-1)/4
    ],
)
def test_by_hand(wins: int, losses: int, expected: float) -> None:
    assert e_value(wins, losses) == pytest.approx(expected)


@pytest.mark.parametrize(("wins", "losses"), [(11, 4), (7, 7), (0, 9), (40, 3)])
def test_agrees_with_the_binomial_form(wins: int, losses: int) -> None:
    n = wins + losses
    tail = sum(comb(n + 1, k) for k in range(wins + 1))
    exact = Fraction(factorial(wins) * factorial(losses) * tail, factorial(n + 1))
    assert e_value(wins, losses) == pytest.approx(float(exact))


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (3, 1), (2, 9), (15, 14)])
def test_a_fair_unit_leaves_the_expectation(wins: int, losses: int) -> None:
    """Under the null the next discordant unit is a fair coin: the mean of both outcomes is the present."""
    mean = (e_value(wins + 1, losses) + e_value(wins, losses + 1)) / 2
    assert mean == pytest.approx(e_value(wins, losses))


def test_large_counts_stay_finite() -> None:
    assert log_e(900, 100) > 300
    assert exp(log_e(5, 800)) > 0


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="counts"):
        log_e(-1, 0)


def test_shrunk_delta_by_hand() -> None:
    assert shrunk_delta(6, 2, 17, 3) == pytest.approx(4 / 20)
    assert shrunk_delta(0, 0, 0, 0) == 0


@pytest.mark.parametrize(("wins", "losses", "n"), [(0, 0, 5), (7, 2, 20), (30, 11, 200)])
def test_the_capital_against_no_lift_is_the_e_process(wins: int, losses: int, n: int) -> None:
    """Ties neither win nor lose a bet that the mean is above 0."""
    assert log_capital(wins, losses, n, 0.0) == pytest.approx(log_e(wins, losses), abs=1e-9)


def test_the_capital_by_hand() -> None:
    """One win and one tie against a mean of 1/3: ∫ (1+u/2)(1-u/4) = 1 + 1/8 - 1/24 = 13/12."""
    assert exp(log_capital(1, 0, 2, 1 / 3)) == pytest.approx(13 / 12)


def test_the_interval_holds_the_lift_and_shrinks() -> None:
    wide, narrow = confidence_sequence(4, 1, 10), confidence_sequence(40, 10, 100)
    assert wide[0] < narrow[0] < 0.3 < narrow[1] < wide[1]
    # One end is the other's mirror
    low, high = confidence_sequence(1, 4, 10)
    assert (low, high) == pytest.approx((-wide[1], -wide[0]))
    # The bet that refutes the low end has just earned 2/α
    assert exp(log_capital(40, 10, 100, narrow[0])) == pytest.approx(40, rel=1e-6)
    assert confidence_sequence(0, 0, 0) == pytest.approx((-1, 1), abs=1e-9)


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="counts among n units"):
        log_capital(3, 3, 5, 0.0)


@pytest.mark.parametrize(
    ("chances", "wins", "tried", "needed", "expected"),
    [
        (5, 0, 0, 0, 1.0),
        (5, 0, 0, 6, 0.0),
        (5, 0, 0, 2, 4 / 6),  # a uniform prior makes every number of wins equally likely
        (7, 0, 3, 3, 7 * 6 * 5 / (11 * 10 * 9)),
        (1, 2, 3, 1, 3 / 5),  # Laplace's rule of succession
    ],
)
def test_predictive_by_hand(chances: int, wins: int, tried: int, needed: int, expected: float) -> None:
    assert predictive(chances, wins, tried, needed) == pytest.approx(expected)
