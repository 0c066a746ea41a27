"""Which units judge a candidate, and in which order: fixed before any of its outcomes (SPEC §6)."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from skillmake.config.models import Gate
from skillmake.units import Unit, seeded_shuffle


def build_ladder(
    units: Iterable[Unit],
    pack_units: Collection[str],
    p_hat: Mapping[str, float],
    right: Mapping[str, bool | None],
    config: Gate,
    seed: tuple[object, ...],
) -> list[list[Unit]]:
    """Rungs of at most `gate.rung` units, `gate.n_max` units in all.

    `units`: validation (and diagnosis) units of the type; those with a case in the pack leave whole.
    `right`: last known outcome of the baseline by unit. The preference for informative units works
    inside the strata right / not right and keeps their shares: a ladder in which failures are
    over-represented would favour any change (see benchmarks and SPEC §6).
    """
    free = [unit for unit in units if unit.unit_id not in pack_units]
    order = seeded_shuffle(free, lambda unit: unit.unit_id, "ladder", *seed)
    if p_hat and len(order) > config.n_max:
        order = _prefer_informative(order, p_hat, right, config)
        order = seeded_shuffle(order, lambda unit: unit.unit_id, "ladder-order", *seed)
    order = order[: config.n_max]
    return [list(order[k : k + config.rung]) for k in range(0, len(order), config.rung)]


def _prefer_informative(
    order: Sequence[Unit], p_hat: Mapping[str, float], right: Mapping[str, bool | None], config: Gate
) -> list[Unit]:
    strata = [
        [unit for unit in order if bool(right.get(unit.unit_id)) is outcome] for outcome in (True, False)
    ]
    n_right = round(config.n_max * len(strata[0]) / len(order))
    chosen: list[Unit] = []
    for stratum, size in zip(strata, (n_right, config.n_max - n_right), strict=True):
        inside = [unit for unit in stratum if _informative(unit, p_hat, config)]
        outside = [unit for unit in stratum if not _informative(unit, p_hat, config)]
        probes = min(len(outside), round(size * config.probe_quota))
        taken = inside[: size - probes]
        chosen += taken + outside[: size - len(taken)]
    return chosen


def _informative(unit: Unit, p_hat: Mapping[str, float], config: Gate) -> bool:
    return config.p_low <= p_hat.get(unit.unit_id, 0.5) <= config.p_high


def update_p_hat(
    p_hat: Mapping[str, float], outcomes: Mapping[str, Sequence[bool]], gamma: float
) -> dict[str, float]:
    """p̂ ← (1-γ)·p̂ + γ·(mean outcome of the epoch); a unit's first epoch sets it."""
    out = dict(p_hat)
    for unit_id, seen in outcomes.items():
        if seen:
            mean = sum(seen) / len(seen)
            out[unit_id] = mean if unit_id not in out else (1 - gamma) * out[unit_id] + gamma * mean
    return out
