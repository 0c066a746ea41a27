"""Batches of an epoch: whole units, enough of each type, a share that is right (SPEC §3, Batches)."""

from collections.abc import Mapping, Sequence
from math import ceil, floor

from skillmake.units import Unit, seeded_shuffle


def plan_batches(
    units: Sequence[Unit],
    right: Mapping[str, bool | None],
    batch_size: int,
    min_class_per_batch: int,
    batch_correct_ratio: float,
    seed: int | str,
) -> list[list[str]]:
    """Unit ids per batch, sorted inside a batch; every selected unit is in exactly one batch.

    units: diagnosis units of the trainable types. right: by unit id; missing or None counts as not right.
    No batch holds more than `batch_size` units. A type is dealt to fewer batches where that keeps
    `min_class_per_batch` units of it in each; only where room forbids it does a batch get fewer.
    """
    selected = select_units(units, right, min_class_per_batch, batch_correct_ratio, seed)
    n_selected = sum(len(chosen) for chosen in selected.values())
    batches: list[list[str]] = [[] for _ in range(total_steps(n_selected, batch_size, 1))]
    floor_size = min(min_class_per_batch, batch_size)

    def hardest_first(task_type: str) -> tuple[int, int, str]:
        size = len(selected[task_type])
        return size // floor_size, -size, task_type

    for rank, task_type in enumerate(sorted(selected, key=hardest_first)):
        chosen = selected[task_type]
        free = [batch_size - len(batch) for batch in batches]
        sizes = _deal(len(chosen), free, floor_size)
        parts = _spread(chosen, right, sizes, len(chosen) * rank // len(selected))
        for batch, part in zip(batches, parts, strict=True):
            batch += part
    return [sorted(batch) for batch in batches]


def select_units(
    units: Sequence[Unit],
    right: Mapping[str, bool | None],
    min_class_per_batch: int,
    batch_correct_ratio: float,
    seed: int | str,
) -> dict[str, list[str]]:
    """Task type → selected unit ids, in seeded order.

    All units that are not right, and right ones up to the share `batch_correct_ratio` of the selected,
    or as many as bring the type to `min_class_per_batch` units, whichever is more. So a type without
    a wrong unit still shows `min_class_per_batch` right ones: its diagnosis keeps its good examples fresh.
    """
    by_type: dict[str, list[str]] = {}
    for unit in units:
        by_type.setdefault(unit.task_type, []).append(unit.unit_id)
    out = {}
    for task_type in sorted(by_type):
        order = seeded_shuffle(by_type[task_type], str, "batch", seed, task_type)
        n_wrong = sum(right.get(unit_id) is not True for unit_id in order)
        by_share = floor(n_wrong * batch_correct_ratio / (1 - batch_correct_ratio) + 0.5)
        most_right = max(by_share, min_class_per_batch - n_wrong)
        chosen = set([unit_id for unit_id in order if right.get(unit_id) is True][:most_right])
        out[task_type] = [unit_id for unit_id in order if unit_id in chosen or right.get(unit_id) is not True]
    return out


def total_steps(n_selected: int, batch_size: int, epochs: int) -> int:
    """Steps of a training: epochs × ceil(selected units / batch size) (SPEC §3)."""
    return epochs * ceil(n_selected / batch_size)


def _deal(n: int, free: Sequence[int], floor_size: int) -> list[int]:
    """How many of a type's n units each batch gets, by the room it has left.

    As many batches as can hold `floor_size` units each; if none can, the fewest that hold all n.
    """
    roomy = sorted(range(len(free)), key=lambda batch: (-free[batch], batch))
    fits = [k for k in range(1, len(free) + 1) if sum(free[batch] for batch in roomy[:k]) >= n]
    whole = [k for k in fits if n >= k * floor_size and free[roomy[k - 1]] >= floor_size]
    chosen = roomy[: max(whole, default=min(fits, default=0))]
    sizes = [0] * len(free)
    for batch in chosen:
        sizes[batch] = floor_size if whole else 0
    for _ in range(n - sum(sizes)):
        sizes[max(chosen, key=lambda batch: (free[batch] - sizes[batch], -batch))] += 1
    return sizes


def _spread(
    chosen: Sequence[str], right: Mapping[str, bool | None], sizes: Sequence[int], shift: int
) -> list[list[str]]:
    """The chosen units in parts of these sizes, the right ones spread in proportion (within one unit).

    shift: in [0, chosen units); another one per type keeps the roundings from piling up in one batch.
    """
    good = [unit_id for unit_id in chosen if right.get(unit_id) is True]
    bad = [unit_id for unit_id in chosen if right.get(unit_id) is not True]
    out, end, used_good = [], 0, 0
    for size in sizes:
        start, end = end, end + size
        next_good = (len(good) * end + shift) // len(chosen) if chosen else 0
        out.append(good[used_good:next_good] + bad[start - used_good : end - next_good])
        used_good = next_good
    return out
