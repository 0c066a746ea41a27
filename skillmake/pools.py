"""The frozen split of units into diagnosis, validation and test; the types worth training (SPEC §2, §3)."""

from collections.abc import Iterator, Sequence
from math import floor, isclose

from skillmake.artifacts import Artifact
from skillmake.errors import ConfigError, DataError
from skillmake.questions import did_you_mean
from skillmake.units import Unit, seeded_shuffle


class Pools(Artifact):
    """Unit ids of each pool, sorted; every unit is in exactly one."""

    diagnosis: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


def split_pools(units: Sequence[Unit], shares: tuple[float, float, float], seed: int) -> Pools:
    """Split whole units, each task type on its own, by the shares of diagnosis, validation and test.

    Counts are rounded by largest remainder; a type with enough units has one in every pool whose share
    is not zero. Within a type every answer is spread evenly over the pools: a text that only leans
    towards a frequent answer must not pass on one pool and fail on another. Another type's units never
    matter. ConfigError if the shares do not sum to 1.
    """
    if min(shares) < 0 or not isclose(sum(shares), 1, abs_tol=1e-6):
        given = ", ".join(str(share) for share in shares)
        raise ConfigError(f"data.pools: shares must not be negative and must sum to 1, got {given}")
    pools: tuple[list[str], ...] = ([], [], [])
    for task_type, members in _by_type(units).items():
        order = _by_answer(members, "pools", seed, task_type)
        for unit, pool in zip(order, _dealt(pool_counts(len(order), shares)), strict=True):
            pools[pool].append(unit.unit_id)
    diagnosis, validation, test = (tuple(sorted(pool)) for pool in pools)
    return Pools(diagnosis=diagnosis, validation=validation, test=test)


def pool_counts(n: int, shares: Sequence[float]) -> list[int]:
    """How many of n units each pool gets; sums to n."""
    exact = [round(n * share, 9) for share in shares]  # 0.29 * 100 is 28.999…
    counts = [floor(part) for part in exact]
    open_pools = [pool for pool, share in enumerate(shares) if share > 0]
    by_remainder = sorted(open_pools, key=lambda pool: (counts[pool] - exact[pool], pool))
    for pool in by_remainder[: n - sum(counts)]:
        counts[pool] += 1
    if n >= len(open_pools):
        for pool in open_pools:
            if counts[pool] == 0:
                counts[max(open_pools, key=lambda other: (counts[other], -other))] -= 1
                counts[pool] = 1
    return counts


def _by_answer(units: Sequence[Unit], *seed: object) -> list[Unit]:
    """Units with one answer side by side, answers and the units of each in seeded order."""
    order = seeded_shuffle(units, lambda unit: unit.unit_id, *seed)
    answers = {unit.unit_id: tuple(question.answer for question in unit.questions) for unit in order}
    first = {answer: place for place, answer in reversed([*enumerate(answers.values())])}
    return sorted(order, key=lambda unit: first[answers[unit.unit_id]])


def _dealt(counts: Sequence[int]) -> Iterator[int]:
    """Pool of each place in turn, so that every stretch of places holds the pools in proportion."""
    n, given = sum(counts), [0] * len(counts)
    for place in range(1, n + 1):
        behind = [(count * place - given[pool] * n, -pool) for pool, count in enumerate(counts)]
        pool = -max(row for row, count, had in zip(behind, counts, given, strict=True) if had < count)[1]
        given[pool] += 1
        yield pool


def dropped_types(
    units: Sequence[Unit],
    pools: Pools,
    eval_min_per_class: int,
    trainable_min_units: int,
    task_types: Sequence[str] | None,
) -> tuple[list[str], dict[str, str]]:
    """(types to train, sorted; dropped type → reason), counted in units (SPEC §3, Untrainable types).

    ConfigError: `task_types` is empty or names an unknown type. DataError: no type is left.
    """
    by_type = _by_type(units)
    _check_names(task_types, sorted(by_type))
    diagnosis, validation = set(pools.diagnosis), set(pools.validation)
    kept, dropped = [], {}
    for task_type, members in by_type.items():
        n_diagnosis = sum(unit.unit_id in diagnosis for unit in members)
        n_validation = sum(unit.unit_id in validation for unit in members)
        reasons = []
        if task_types is not None and task_type not in task_types:
            reasons.append("not in task_types")
        if n_validation < eval_min_per_class:
            reasons.append(f"fewer than train.eval_min_per_class = {eval_min_per_class} validation units")
        if n_diagnosis + n_validation < trainable_min_units:
            reasons.append(
                f"fewer than train.trainable_min_units = {trainable_min_units} diagnosis + validation units"
            )
        if reasons:
            counts = f"{n_diagnosis} diagnosis, {n_validation} validation units"
            dropped[task_type] = f"{' and '.join(reasons)} ({counts})"
        else:
            kept.append(task_type)
    if not kept:
        rows = "".join(f"\n  {task_type}: {reason}" for task_type, reason in dropped.items())
        raise DataError(f"no task type can be trained:{rows}", "add questions or lower these two parameters")
    return kept, dropped


def _check_names(task_types: Sequence[str] | None, known: Sequence[str]) -> None:
    if task_types is None:
        return
    if not task_types:
        raise ConfigError("task_types is empty", "name a type, or null to train every type")
    problems = [
        f"task_types: unknown type {name!r}.{did_you_mean(name, known)}"
        for name in task_types
        if name not in known
    ]
    if problems:
        raise ConfigError("\n".join(problems), f"the questions have {', '.join(known)}")


def _by_type(units: Sequence[Unit]) -> dict[str, list[Unit]]:
    out: dict[str, list[Unit]] = {}
    for unit in sorted(units, key=lambda unit: (unit.task_type, unit.unit_id)):
        out.setdefault(unit.task_type, []).append(unit)
    return out
