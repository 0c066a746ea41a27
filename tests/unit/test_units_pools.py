import pytest

from skillmake.errors import ConfigError, DataError
from skillmake.pools import Pools, dropped_types, pool_counts, split_pools
from skillmake.questions import Question
from skillmake.units import Unit, make_units, seeded, seeded_shuffle, unit_right


def question(question_id: str, task_type: str = "t", unit_id: str = "") -> Question:
    return Question(
        question_id=question_id,
        task_type=task_type,
        question="?",
        answer="a",
        unit_id=unit_id or question_id,
    )


def units(task_type: str, n: int) -> list[Unit]:
    return make_units(question(f"{task_type}{number:03d}", task_type) for number in range(n))


PAIR = make_units([question("b", unit_id="p"), question("a", unit_id="p")])[0]


def test_units_are_sorted_and_pairs_hold_both_questions() -> None:
    found = make_units([question("z"), question("b", unit_id="p"), question("a", unit_id="p")])
    assert [unit.unit_id for unit in found] == ["p", "z"]
    assert [member.question_id for member in found[0].questions] == ["a", "b"]


def test_a_unit_is_at_most_a_pair_of_one_type() -> None:
    with pytest.raises(DataError, match="unit p has 3 questions: a, b, c"):
        make_units(question(name, unit_id="p") for name in "abc")
    with pytest.raises(DataError, match="unit p has task types t, u: a, b"):
        make_units([question("a", "t", "p"), question("b", "u", "p")])


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ({"a": True, "b": True}, True),
        ({"a": True, "b": False}, False),
        ({"a": None, "b": False}, False),
        ({"b": False}, False),
        ({"a": True, "b": None}, None),
        ({"a": True}, None),
        ({}, None),
    ],
)
def test_a_pair_is_right_only_if_both_are(right: dict[str, bool | None], expected: bool | None) -> None:
    assert unit_right(PAIR, right) is expected


def test_seeded_depends_on_its_parts_alone() -> None:
    assert seeded("pools", 1).random() == seeded("pools", 1).random()
    draws = {seeded(*parts).random() for parts in [("a", 1), ("a", 2), ("b", 1), ("a", "1"), ("a1",)]}
    assert len(draws) == 5
    # A fixed draw: a change of it would silently re-split every started run.
    assert seeded_shuffle("abcdef", str, "pools", 1) == seeded_shuffle("fedcba", str, "pools", 1)
    assert "".join(seeded_shuffle("abcdef", str, "pools", 1)) == "cedbfa"


@pytest.mark.parametrize(
    ("n", "shares", "expected"),
    [
        (10, (0.34, 0.33, 0.33), [4, 3, 3]),  # exact 3.4, 3.3, 3.3: the one left goes to .4
        (11, (0.34, 0.33, 0.33), [4, 4, 3]),  # 3.74, 3.63, 3.63: two left, for .74 and the first .63
        (100, (0.29, 0.71, 0.0), [29, 71, 0]),
        (20, (0.01, 0.57, 0.42), [1, 11, 8]),  # 0.2, 11.4, 8.4: a tie goes to the first; 12 gives one away
        (3, (0.9, 0.05, 0.05), [1, 1, 1]),
        (4, (0.9, 0.05, 0.05), [2, 1, 1]),
        (3, (0.5, 0.5, 0.0), [2, 1, 0]),
        (1, (0.34, 0.33, 0.33), [1, 0, 0]),
        (0, (0.34, 0.33, 0.33), [0, 0, 0]),
    ],
)
def test_pool_counts(n: int, shares: tuple[float, float, float], expected: list[int]) -> None:
    assert pool_counts(n, shares) == expected


def test_split_is_by_type_and_by_seed() -> None:
    everything = units("t", 20) + units("u", 10)
    pools = split_pools(everything, (0.5, 0.3, 0.2), 1)
    assert [sum(unit_id[0] == "t" for unit_id in pool) for pool in (pools.diagnosis, pools.validation)] == [
        10,
        6,
    ]
    assert [len(pool) for pool in (pools.diagnosis, pools.validation, pools.test)] == [15, 9, 6]
    assert list(pools.test) == sorted(pools.test)
    assert split_pools(everything, (0.5, 0.3, 0.2), 2) != pools


def test_types_are_drawn_apart() -> None:
    pools = split_pools(units("t", 20) + units("u", 20), (0.5, 0.3, 0.2), 1)
    drawn = {name: [unit_id[1:] for unit_id in pools.diagnosis if unit_id[0] == name] for name in "tu"}
    assert drawn["t"] != drawn["u"]


@pytest.mark.parametrize("shares", [(0.5, 0.5, 0.5), (1.2, -0.1, -0.1)])
def test_shares_must_be_shares(shares: tuple[float, float, float]) -> None:
    with pytest.raises(ConfigError, match=r"data\.pools"):
        split_pools([], shares, 1)


def pools_of(*parts: tuple[str, int, int]) -> tuple[list[Unit], Pools]:
    """Types with their numbers of diagnosis and validation units, and one test unit each."""
    everything, diagnosis, validation, test = [], list[str](), list[str](), list[str]()
    for task_type, n_diagnosis, n_validation in parts:
        made = units(task_type, n_diagnosis + n_validation + 1)
        ids = [unit.unit_id for unit in made]
        everything += made
        diagnosis += ids[:n_diagnosis]
        validation += ids[n_diagnosis:-1]
        test += ids[-1:]
    return everything, Pools(diagnosis=tuple(diagnosis), validation=tuple(validation), test=tuple(test))


def test_types_that_are_too_small_are_dropped_with_the_reason() -> None:
    everything, pools = pools_of(("few", 5, 4), ("less", 20, 4), ("small", 4, 5), ("good", 5, 5))
    kept, dropped = dropped_types(everything, pools, 5, 10, None)
    assert kept == ["good"]
    assert dropped == {
        "few": "fewer than train.eval_min_per_class = 5 validation units and fewer than "
        "train.trainable_min_units = 10 diagnosis + validation units (5 diagnosis, 4 validation units)",
        "less": "fewer than train.eval_min_per_class = 5 validation units (20 diagnosis, 4 validation units)",
        "small": "fewer than train.trainable_min_units = 10 diagnosis + validation units "
        "(4 diagnosis, 5 validation units)",
    }


def test_pairs_count_once() -> None:
    pair_units = make_units(question(f"p{n}{side}", unit_id=f"p{n}") for n in range(4) for side in "ab")
    pools = Pools(diagnosis=("p0", "p1"), validation=("p2", "p3"), test=())
    assert dropped_types(pair_units, pools, 2, 4, None)[0] == ["t"]
    with pytest.raises(DataError):
        dropped_types(pair_units, pools, 2, 5, None)


def test_task_types_narrow_first() -> None:
    everything, pools = pools_of(("a", 9, 9), ("b", 9, 9))
    kept, dropped = dropped_types(everything, pools, 5, 10, ["b"])
    assert kept == ["b"]
    assert dropped == {"a": "not in task_types (9 diagnosis, 9 validation units)"}


def test_an_unknown_or_empty_task_types_is_a_config_error() -> None:
    everything, pools = pools_of(("counting", 9, 9), ("naming", 9, 9))
    with pytest.raises(ConfigError, match=r"unknown type 'countnig'\. Did you mean `counting`") as caught:
        dropped_types(everything, pools, 5, 10, ["countnig"])
    assert "counting, naming" in caught.value.hint
    with pytest.raises(ConfigError, match="task_types is empty"):
        dropped_types(everything, pools, 5, 10, [])


def test_nothing_left_lists_every_type_with_its_counts() -> None:
    everything, pools = pools_of(("a", 1, 2), ("b", 3, 4))
    with pytest.raises(DataError) as caught:
        dropped_types(everything, pools, 5, 10, None)
    assert "a: fewer than" in caught.value.message
    assert "(1 diagnosis, 2 validation units)" in caught.value.message
    assert "(3 diagnosis, 4 validation units)" in caught.value.message


def test_each_answer_has_its_share_of_every_pool() -> None:
    # 20 units of answer a, 12 of b, 8 of c, shares ½, ¼, ¼: blocks of whole fours are split exactly
    answers = {"a": 20, "b": 12, "c": 8}
    found = make_units(
        question(f"{answer}{number}").model_copy(update={"answer": answer})
        for answer, n in answers.items()
        for number in range(n)
    )
    pools = split_pools(found, (0.5, 0.25, 0.25), 1)
    for pool, share in ((pools.diagnosis, 0.5), (pools.validation, 0.25), (pools.test, 0.25)):
        assert {answer: sum(unit.startswith(answer) for unit in pool) for answer in answers} == {
            answer: n * share for answer, n in answers.items()
        }
