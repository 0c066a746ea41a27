"""The ladder: who is on it, in which order, and p̂ (SPEC §6)."""

import pytest

from skillmake.config.models import Gate
from skillmake.ladder import build_ladder, update_p_hat
from skillmake.units import make_units
from tests.worlds import question, units

SEED = (1, 0, "alpha")


def ids(ladder: list[list[object]]) -> list[str]:
    return [unit.unit_id for rung in ladder for unit in rung]  # type: ignore[attr-defined]


def test_rungs_and_n_max() -> None:
    ladder = build_ladder(units(30), [], {}, {}, Gate(n_max=25, rung=10), SEED)
    assert [len(rung) for rung in ladder] == [10, 10, 5]
    assert len(set(ids(ladder))) == 25


def test_a_unit_with_a_case_in_the_pack_leaves_whole() -> None:
    twins = [question("a1", unit_id="pair"), question("a2", unit_id="pair")]
    pool = [*units(5), *make_units(twins)]
    ladder = build_ladder(pool, ["pair", "u03"], {}, {}, Gate(), SEED)
    assert sorted(ids(ladder)) == ["u00", "u01", "u02", "u04"]


def test_the_order_is_a_function_of_ids_and_seed() -> None:
    forward = build_ladder(units(20), [], {}, {}, Gate(), SEED)
    backward = build_ladder(units(20)[::-1], [], {}, {}, Gate(), SEED)
    other = build_ladder(units(20), [], {}, {}, Gate(), (1, 1, "alpha"))
    assert ids(forward) == ids(backward)
    assert ids(forward) != ids(other)


def test_informative_units_are_preferred_inside_each_outcome() -> None:
    """40 units, 30 right; 8 right and 4 wrong ones are informative; a ladder of 20 with a quota of .2."""
    pool = units(40)
    right = {unit.unit_id: number < 30 for number, unit in enumerate(pool)}
    p_hat = {unit.unit_id: 1.0 if right[unit.unit_id] else 0.0 for unit in pool}
    informative = {f"u{k:02d}" for k in [*range(8), *range(30, 34)]}
    p_hat |= dict.fromkeys(informative, 0.5)
    chosen = set(ids(build_ladder(pool, [], p_hat, right, Gate(n_max=20, probe_quota=0.2), SEED)))
    # 20 · 30/40 = 15 right ones: all 8 informative, 7 others; 5 wrong ones: 1 probe, 4 informative.
    assert sum(right[unit_id] for unit_id in chosen) == 15
    assert informative <= chosen


def test_the_probe_quota_is_kept() -> None:
    pool = units(40)
    right = dict.fromkeys((unit.unit_id for unit in pool), True)
    p_hat = {unit.unit_id: 0.5 if k < 30 else 1.0 for k, unit in enumerate(pool)}
    chosen = ids(build_ladder(pool, [], p_hat, right, Gate(n_max=20, probe_quota=0.2), SEED))
    assert sum(p_hat[unit_id] == 1.0 for unit_id in chosen) == 4


def test_p_hat_by_hand() -> None:
    before = {"a": 0.8, "c": 0.3}
    after = update_p_hat(before, {"a": [False, True], "b": [True, True, False, True], "d": []}, 0.25)
    assert after["a"] == pytest.approx(0.75 * 0.8 + 0.25 * 0.5)
    assert after["b"] == 0.75
    assert after["c"] == 0.3
    assert "d" not in after
