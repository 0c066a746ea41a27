"""Evidence: values worked out by hand from the integral of SPEC §6."""

from fractions import Fraction
from math import comb, exp, factorial

import pytest

from skillmake.evidence import e_value, log_e, shrunk_delta


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
