"""Evidence for "the candidate is better", from wins and losses alone (SPEC §6)."""

from functools import lru_cache
from math import exp, lgamma, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np  # at run time only where it is used: most jobs need none of it


QUADRATURE_NODES = 128
INTERVAL_STEPS = 40  # bisection: 2⁻⁴⁰ of the width is far below what is printed


@lru_cache(maxsize=4096)
def log_e(wins: int, losses: int) -> float:
    """Natural log of the mixture e-process e(W,L) = ∫₀¹ (1+λ)^W (1-λ)^L dλ.

    Under "no better" each discordant unit is a win with probability at most ½, so every factor has
    expectation at most 1 and the mixture is a non-negative supermartingale: P(e ever ≥ c) ≤ 1/c
    (Ville 1939; betting form and mixtures: Waudby-Smith & Ramdas 2024, "Estimating means of bounded
    random variables by betting", §3).
    Closed form, with n = W + L: Σ_{k=0..W} W!·L! / (k!·(n+1-k)!), summed in log space.
    """
    if wins < 0 or losses < 0:
        raise ValueError("wins and losses are counts")
    n = wins + losses
    terms = [
        lgamma(wins + 1) + lgamma(losses + 1) - lgamma(k + 1) - lgamma(n + 2 - k) for k in range(wins + 1)
    ]
    top = max(terms)
    return top + log(sum(exp(term - top) for term in terms))


def e_value(wins: int, losses: int) -> float:
    """e(W,L); its mirror, the evidence for harm, is e_value(losses, wins)."""
    return exp(log_e(wins, losses))


def shrunk_delta(wins: int, losses: int, n: int, weight: float) -> float:
    """(W-L)/(n+weight): posterior mean of the lift under a symmetric Dirichlet prior on win, loss and
    tie of total weight `weight`; 0 when nothing was observed."""
    return (wins - losses) / (n + weight) if n + weight > 0 else 0.0


def log_capital(wins: int, losses: int, n: int, mean: float) -> float:
    """Natural log of the wealth of bets that the lift is above `mean`, -1 < mean < 1, after n units.

    With outcomes x of 1 (win), 0 (tie), -1 (loss): ∫₀¹ Π (1 + λ·(x - mean)/(1 + mean)) dλ, which is e(W,L)
    for mean 0 and falls as `mean` grows (Waudby-Smith & Ramdas 2024, §3). Every factor is linear in λ, so
    Gauss-Legendre quadrature is exact up to 255 units and closer than rounding beyond.
    """
    if min(wins, losses, n - wins - losses) < 0 or not -1 < mean < 1:
        raise ValueError("wins and losses are counts among n units, and -1 < mean < 1")
    import numpy as np

    nodes, weights = _quadrature()
    gains = [(1 - mean) / (1 + mean), -mean / (1 + mean), -1.0]  # per unit staked: win, tie, loss
    counts = [wins, n - wins - losses, losses]
    terms = np.log(weights) + sum(c * np.log1p(g * nodes) for c, g in zip(counts, gains, strict=True))
    top = float(terms.max())
    return top + log(float(np.exp(terms - top).sum()))


@lru_cache(maxsize=4096)
def confidence_sequence(wins: int, losses: int, n: int, alpha: float = 0.05) -> tuple[float, float]:
    """(low, high) for the lift δ, valid at every rung's end at once with probability 1 - alpha.

    All means that neither the bets above nor their mirror below refute at 2/alpha each
    (Waudby-Smith & Ramdas 2024, hedged capital, §4).
    """
    low = _refuted_up_to(wins, losses, n, log(2 / alpha))
    return low, -_refuted_up_to(losses, wins, n, log(2 / alpha))


@lru_cache(maxsize=65536)
def predictive(chances: int, wins: int, tried: int, needed: int) -> float:
    """Probability of at least `needed` wins in `chances` more units after `wins` in `tried`.

    Beta-binomial with a uniform prior on the win rate: predictive power, as in stochastic curtailment
    (Lan, Simon & Halperin 1982; Spiegelhalter, Freedman & Blackburn 1986).
    """
    a, b = wins + 1, tried - wins + 1
    return sum(
        exp(
            lgamma(chances + 1)
            - lgamma(x + 1)
            - lgamma(chances - x + 1)
            + lgamma(x + a)
            + lgamma(chances - x + b)
            - lgamma(chances + a + b)
            + lgamma(a + b)
            - lgamma(a)
            - lgamma(b)
        )
        for x in range(needed, chances + 1)
    )


def _refuted_up_to(wins: int, losses: int, n: int, bar: float) -> float:
    low, high = -1.0, 1.0
    for _ in range(INTERVAL_STEPS):
        middle = (low + high) / 2
        if log_capital(wins, losses, n, middle) >= bar:
            low = middle
        else:
            high = middle
    return low


@lru_cache(maxsize=1)
def _quadrature() -> "tuple[np.ndarray, np.ndarray]":
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_NODES)
    return (nodes + 1) / 2, weights / 2
