"""How others accept a candidate, on the same outcomes as the gate; each rule is a function of differences.

A difference is the candidate's outcome on a unit minus the baseline's: 1 win, -1 loss, 0 tie, or a fraction
where units are drawn more than once. The value is the chance that the rule accepts.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from math import comb, prod

MINIBATCH = 3
Rule = Callable[[Sequence[float]], float]


def mean_is_higher(differences: Sequence[float]) -> float:
    """1 when the candidate's mean is above the baseline's, else 0."""
    return float(sum(differences) > 0)


def minibatch_of_3(differences: Sequence[float]) -> float:
    """Share of all minibatches of three units in which the candidate is right more often; exact."""
    size = min(MINIBATCH, len(differences))
    counts = Counter(differences)
    better = 0
    for batch in combinations_with_replacement(sorted(counts), size):
        if sum(batch) > 0:
            better += prod(comb(counts[value], times) for value, times in Counter(batch).items())
    return better / comb(len(differences), size)


def one_standard_error(differences: Sequence[float]) -> float:
    """1 when the mean difference is above its own standard error (paired), else 0.

    With S = Σd and Q = Σd², mean² > var/n is S²/n² > (Q - S²/n)/(n(n-1)), that is S² > Q.
    """
    total = sum(differences)
    return float(total > 0 and total**2 > sum(d**2 for d in differences))


PEERS: dict[str, Rule] = {
    "mean_is_higher": mean_is_higher,
    "minibatch_of_3": minibatch_of_3,
    "one_standard_error": one_standard_error,
}
