"""Evidence for "the candidate is better", from wins and losses alone (SPEC §6)."""

from math import exp, lgamma, log


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
