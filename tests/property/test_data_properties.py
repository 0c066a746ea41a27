"""Properties of questions, units, pools and batches that hold for every benchmark (SPEC §2, §3)."""

import json
import random
from collections import Counter
from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

from skillmake.artifacts import canonical_line
from skillmake.batching import plan_batches, select_units, total_steps
from skillmake.errors import DataError
from skillmake.pools import split_pools
from skillmake.questions import Question, parse_questions
from skillmake.units import Unit, make_units, unit_right

quick = settings(max_examples=60, deadline=None)  # a slow machine is no failure

TYPES = ("alpha", "beta", "gamma", "delta")


@st.composite
def benchmarks(draw: st.DrawFn, most: int = 40) -> list[Question]:
    """Questions of up to four types; some are twin pairs."""
    out = []
    for task_type in draw(st.lists(st.sampled_from(TYPES), min_size=1, unique=True)):
        for number in range(draw(st.integers(0, most))):
            unit_id = f"{task_type}-{number}"
            twin = draw(st.integers(0, 3)) == 0
            for question_id in (f"{unit_id}a", f"{unit_id}b") if twin else (unit_id,):
                keys = {"question_id": question_id, "unit_id": unit_id, "task_type": task_type}
                out.append(Question.model_validate({**keys, "question": "?", "answer": "yes"}))
    return out


@st.composite
def shares(draw: st.DrawFn) -> tuple[float, float, float]:
    first = draw(st.integers(0, 100))
    second = draw(st.integers(0, 100 - first))
    return first / 100, second / 100, (100 - first - second) / 100


def shuffled(questions: list[Question], seed: int) -> list[Question]:
    return random.Random(seed).sample(questions, len(questions))


def outcomes(units: list[Unit], seed: int) -> dict[str, bool | None]:
    """Right, wrong, an error, or nothing known."""
    generator = random.Random(seed)
    drawn = {unit.unit_id: generator.choice((True, True, False, None, "unknown")) for unit in units}
    return {unit_id: value for unit_id, value in drawn.items() if value is None or isinstance(value, bool)}


@quick
@given(benchmarks(), shares(), st.integers(0, 9))
def test_every_unit_is_in_one_pool_and_no_pair_is_split(
    questions: list[Question], parts: tuple[float, float, float], seed: int
) -> None:
    units = make_units(questions)
    pools = split_pools(units, parts, seed)
    everywhere = [*pools.diagnosis, *pools.validation, *pools.test]
    assert sorted(everywhere) == [unit.unit_id for unit in units]
    pool_of = {
        unit_id: number
        for number, pool in enumerate((pools.diagnosis, pools.validation, pools.test))
        for unit_id in pool
    }
    twins: dict[str, set[int]] = {}
    for question in questions:
        twins.setdefault(question.question_id.rstrip("ab"), set()).add(pool_of[question.unit_id])
    assert all(len(pools_of_pair) == 1 for pools_of_pair in twins.values())


@quick
@given(benchmarks(), shares(), st.integers(0, 9))
def test_shares_are_met_within_one_unit_or_the_guaranteed_one(
    questions: list[Question], parts: tuple[float, float, float], seed: int
) -> None:
    units = make_units(questions)
    pools = split_pools(units, parts, seed)
    n_by_type = Counter(unit.task_type for unit in units)
    for task_type, n in n_by_type.items():
        for pool, share in zip((pools.diagnosis, pools.validation, pools.test), parts, strict=True):
            found = sum(unit_id.startswith(f"{task_type}-") for unit_id in pool)
            assert found == 0 if share == 0 else found >= (n >= 3)
            assert n * share - 3 < found < n * share + 2


@quick
@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), shares(), st.integers(0, 9))
def test_every_answer_is_spread_over_the_pools(
    counts: list[int], parts: tuple[float, float, float], seed: int
) -> None:
    keys = [(answer, f"{answer}-{number}") for answer, n in enumerate(counts) for number in range(n)]
    values = [{"question_id": name, "unit_id": name, "answer": str(answer)} for answer, name in keys]
    fixed = {"task_type": "t", "question": "?"}
    pools = split_pools(
        make_units(Question.model_validate({**fixed, **value}) for value in values), parts, seed
    )
    for pool in (pools.diagnosis, pools.validation, pools.test):
        for answer, n in enumerate(counts):
            found = sum(unit_id.startswith(f"{answer}-") for unit_id in pool)
            assert abs(found - n * len(pool) / sum(counts)) <= 2


@quick
@given(benchmarks(), benchmarks(), st.integers(0, 9))
def test_units_of_other_types_do_not_move_a_split(
    questions: list[Question], more: list[Question], seed: int
) -> None:
    parts = (0.34, 0.33, 0.33)
    own = {question.task_type for question in questions}
    others = [question for question in more if question.task_type not in own]
    before = split_pools(make_units(questions), parts, seed)
    after = split_pools(make_units(questions + others), parts, seed)
    known = {question.unit_id for question in questions}
    for name in ("diagnosis", "validation", "test"):
        assert [unit_id for unit_id in getattr(after, name) if unit_id in known] == list(
            getattr(before, name)
        )


@quick
@given(benchmarks(), st.integers(0, 9), st.integers(0, 999))
def test_the_order_of_the_questions_does_not_matter(questions: list[Question], seed: int, order: int) -> None:
    units, turned = make_units(questions), make_units(shuffled(questions, order))
    assert units == turned
    turned.reverse()
    assert split_pools(units, (0.5, 0.3, 0.2), seed) == split_pools(turned, (0.5, 0.3, 0.2), seed)
    right = outcomes(units, order)
    plan = plan_batches(units, right, 12, 3, 0.4, seed)
    assert plan == plan_batches(turned, dict(reversed(right.items())), 12, 3, 0.4, seed)


@quick
@given(
    benchmarks(),
    st.integers(1, 30),
    st.integers(1, 12),
    st.sampled_from((0.0, 0.25, 0.4, 0.8)),
    st.integers(0, 99),
)
def test_batches_hold_every_selected_unit_once(
    questions: list[Question], batch_size: int, min_class: int, ratio: float, seed: int
) -> None:
    units = make_units(questions)
    right = outcomes(units, seed)
    selected = select_units(units, right, min_class, ratio, seed)
    batches = plan_batches(units, right, batch_size, min_class, ratio, seed)
    flat = [unit_id for batch in batches for unit_id in batch]
    assert sorted(flat) == sorted(unit_id for chosen in selected.values() for unit_id in chosen)
    assert len(set(flat)) == len(flat)
    assert all(1 <= len(batch) <= batch_size for batch in batches)
    assert len(batches) == ceil(len(flat) / batch_size) == total_steps(len(flat), batch_size, 1)
    assert {unit.unit_id for unit in units if right.get(unit.unit_id) is not True} <= set(flat)


@quick
@given(benchmarks(), st.sampled_from((0.0, 0.25, 0.4, 0.8)), st.integers(0, 99))
def test_the_share_of_right_units_is_met_where_there_are_enough(
    questions: list[Question], ratio: float, seed: int
) -> None:
    units = make_units(questions)
    right = outcomes(units, seed)
    for chosen in select_units(units, right, 1, ratio, seed).values():
        good = sum(right.get(unit_id) is True for unit_id in chosen)
        bad = len(chosen) - good
        all_good = sum(
            right.get(unit.unit_id) is True for unit in units if unit.task_type == chosen[0].split("-")[0]
        )
        wanted = bad * ratio / (1 - ratio)
        assert good == min(1, all_good) if bad == 0 else abs(good - min(wanted, all_good)) <= 0.5


@quick
@given(st.integers(1, 5), st.integers(20, 60), st.lists(st.integers(0, 60), min_size=1, max_size=4))
def test_a_class_with_room_keeps_its_minimum(min_class: int, batch_size: int, counts: list[int]) -> None:
    """In a batch of 4 × min_class units there is room for the minimum of each of four classes."""
    questions = [
        Question(question_id=f"{name}-{number}", task_type=name, question="?", answer="a")
        for name, n in zip(TYPES, counts, strict=False)
        for number in range(n)
    ]
    batches = plan_batches(make_units(questions), {}, batch_size, min_class, 0.0, 1)
    sizes = [Counter(unit_id.split("-")[0] for unit_id in batch) for batch in batches]
    for name, n in zip(TYPES, counts, strict=False):
        assert all(size[name] >= min_class for size in sizes if size[name]) or n < min_class


@quick
@given(st.lists(st.sampled_from((True, False, None)), min_size=2, max_size=2))
def test_a_pair_is_a_conjunction_of_three_values(values: list[bool | None]) -> None:
    pair = make_units(
        Question(question_id=name, task_type="t", question="?", answer="a", unit_id="p") for name in "ab"
    )[0]
    right = dict(zip("ab", values, strict=True))
    expected = False if False in values else None if None in values else True
    assert unit_right(pair, right) is expected


@quick
@given(benchmarks(10), st.integers(0, 999))
def test_questions_survive_the_file_in_any_order_of_lines(questions: list[Question], order: int) -> None:
    if questions:
        lines = [canonical_line(question) for question in shuffled(questions, order)]
        assert parse_questions(lines, "q") == sorted(questions, key=lambda question: question.question_id)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ROW = st.fixed_dictionaries({}, optional=dict.fromkeys(Question.model_fields, JSON))


@quick
@given(st.lists(st.binary(max_size=30) | ROW.map(json.dumps) | JSON.map(json.dumps), max_size=5))
def test_whatever_a_file_holds_there_is_never_a_traceback(lines: list[str | bytes]) -> None:
    try:
        found = parse_questions(lines, "q.jsonl")
    except DataError:
        return
    assert found
    assert parse_questions([canonical_line(question) for question in found], "again") == found
