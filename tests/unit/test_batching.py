from collections import Counter

import pytest

from skillmake.batching import plan_batches, select_units, total_steps
from skillmake.questions import Question
from skillmake.units import Unit, make_units


def units(**n_by_type: int) -> list[Unit]:
    return make_units(
        Question(question_id=f"{task_type}{number:03d}", task_type=task_type, question="?", answer="a")
        for task_type, n in n_by_type.items()
        for number in range(n)
    )


def outcomes(**n_wrong_and_n: tuple[int, int]) -> dict[str, bool | None]:
    """The first n_wrong units of a type are wrong, the others are right."""
    return {
        f"{task_type}{number:03d}": number >= n_wrong
        for task_type, (n_wrong, n) in n_wrong_and_n.items()
        for number in range(n)
    }


def sizes(batches: list[list[str]], task_type: str) -> list[int]:
    return [sum(unit_id.startswith(task_type) for unit_id in batch) for batch in batches]


@pytest.mark.parametrize(
    ("n_wrong", "n", "ratio", "min_class", "n_right"),
    [
        (12, 40, 0.4, 1, 8),  # 8 of 20 is .4
        (12, 15, 0.4, 1, 3),  # only three are right
        (10, 40, 0.0, 1, 0),
        (7, 40, 0.5, 1, 7),
        (4, 40, 0.4, 1, 3),  # 2.67 is nearest to 3
        (0, 40, 0.4, 8, 8),  # nothing wrong: as many as a batch wants
        (0, 5, 0.4, 8, 5),
        (2, 40, 0.4, 8, 6),  # one by share, six to reach eight
    ],
)
def test_right_units_fill_the_share_or_the_minimum(
    n_wrong: int, n: int, ratio: float, min_class: int, n_right: int
) -> None:
    right = outcomes(t=(n_wrong, n))
    chosen = select_units(units(t=n), right, min_class, ratio, 1)["t"]
    assert Counter(right[unit_id] for unit_id in chosen) == Counter({True: n_right, False: n_wrong})


def test_unknown_counts_as_not_right() -> None:
    right: dict[str, bool | None] = {"t000": None, "t001": False}
    assert sorted(select_units(units(t=3), right, 1, 0.0, 1)["t"]) == ["t000", "t001", "t002"]


def test_classes_are_dealt_evenly() -> None:
    everything = units(a=30, b=20)
    batches = plan_batches(everything, outcomes(a=(30, 30), b=(20, 20)), 25, 5, 0.0, 1)
    assert [len(batch) for batch in batches] == [25, 25]
    assert sizes(batches, "a") == [15, 15]
    assert sizes(batches, "b") == [10, 10]
    assert all(batch == sorted(batch) for batch in batches)


def test_a_small_class_stays_together() -> None:
    batches = plan_batches(units(a=30, b=9), outcomes(a=(30, 30), b=(9, 9)), 20, 5, 0.0, 1)
    assert sorted(sizes(batches, "b")) == [0, 9]
    assert sorted(len(batch) for batch in batches) == [19, 20]


def test_a_small_class_is_dealt_before_a_large_one_takes_the_room() -> None:
    # 20 + 6 units fill two batches of 13: the six stay together only if they are dealt first.
    batches = plan_batches(units(a=20, b=6), {}, 13, 6, 0.0, 1)
    assert sorted(sizes(batches, "b")) == [0, 6]
    assert sorted(sizes(batches, "a")) == [7, 13]


def test_the_size_is_hard_and_the_minimum_is_soft() -> None:
    # Three classes of six in two batches of ten: the third cannot stay together.
    batches = plan_batches(units(a=6, b=6, c=6), {}, 10, 6, 0.0, 1)
    assert sorted(len(batch) for batch in batches) == [9, 9]
    assert sizes(batches, "c") == [3, 3]


def test_a_minimum_above_the_batch_size_is_the_batch_size() -> None:
    batches = plan_batches(units(a=12), {}, 4, 100, 0.0, 1)
    assert [len(batch) for batch in batches] == [4, 4, 4]


def test_right_ones_are_spread() -> None:
    right = outcomes(a=(24, 60), b=(24, 60))
    batches = plan_batches(units(a=60, b=60), right, 20, 5, 0.4, 1)
    assert len(batches) == 4  # 2 × (24 wrong + 16 right) = 80
    assert [sum(right[unit_id] is True for unit_id in batch) for batch in batches] == [8, 8, 8, 8]


def test_roundings_do_not_pile_up_in_one_batch() -> None:
    names = "abcd"
    right = outcomes(**dict.fromkeys(names, (9, 10)))
    batches = plan_batches(units(**dict.fromkeys(names, 10)), right, 20, 5, 0.1, 1)
    assert [sum(right[unit_id] is True for unit_id in batch) for batch in batches] == [2, 2]


def test_the_seed_moves_the_units() -> None:
    plans = [plan_batches(units(a=40), outcomes(a=(20, 40)), 10, 2, 0.4, seed) for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]


def test_no_unit_no_batch() -> None:
    assert plan_batches([], {}, 10, 2, 0.4, 1) == []


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 3), (72, 3), (73, 6), (144, 6)])
def test_total_steps(n: int, expected: int) -> None:
    assert total_steps(n, 72, 3) == expected
