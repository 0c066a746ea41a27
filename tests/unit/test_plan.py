"""The plan of an epoch, and what the loop starts from (SPEC §3)."""

import pytest

from skillmake.agent.loop import Observation, Prediction
from skillmake.benchmark import Benchmark, Split
from skillmake.config.models import Config, Evolve
from skillmake.config.train import Train
from skillmake.plan import make_plan
from skillmake.pools import Pools
from skillmake.prepare import initial_best, initial_state
from skillmake.questions import Question
from skillmake.state import Best, State
from skillmake.texts import Texts, Version
from tests.worlds import question, units

TEXTS = Texts(
    skills=Version.of({"default-strategy/SKILL.md": "text"}, None, "seed"),
    prompts=Version.of({"system.md": "Answer."}, None, "seed"),
)
TRAIN = Train(epochs=2, batch_size=3, min_class_per_batch=1, early_stop_patience=2)
EVOLVE = Evolve(edit_budget_start=12, edit_budget_end=4, schedule="linear")


def state(**more: object) -> State:
    best = Best(skills="s", prompts="p", accuracy=0.5, epoch=0)
    return State.model_validate(
        {"epoch": 0, "step": 0, "total_steps": 4, "correctness": {}, "best": best, **more}
    )


def row(asked: Question, right: bool | None) -> Prediction:
    """A baseline rollout; None is an infrastructure error."""
    return Prediction(
        question_id=asked.question_id,
        unit_id=asked.unit_id,
        task_type=asked.task_type,
        prediction=None if right is None else "yes",
        right=right,
        stop_reason="error" if right is None else "answered",
        calls=(f"key of {asked.question_id}",),
    )


def benchmark(diagnosis: int, validation: int, test: int) -> tuple[Benchmark, list[Question]]:
    """d00 …, v00 …, t00 … of type alpha, and one unit of an untrainable type in each pool."""
    names = [f"{p}{k:02d}" for p, n in (("d", diagnosis), ("v", validation), ("t", test)) for k in range(n)]
    questions = [question(name) for name in names] + [question(f"{p}-rare", "rare") for p in "dvt"]
    inside = {p: tuple(sorted(q.question_id for q in questions if q.question_id[0] == p)) for p in "dvt"}
    pools = Pools(diagnosis=inside["d"], validation=inside["v"], test=inside["t"])
    return Benchmark(questions, Split(pools=pools, trainable=("alpha",), dropped={"rare": "few"})), questions


@pytest.mark.parametrize(
    ("epoch", "waited", "stop"),
    [
        (1, 0, ""),
        (2, 1, ""),
        (3, 0, "all 2 epochs are done"),
        (2, 2, "2 epochs without a new best"),
        (2, 3, "3 epochs without a new best"),
    ],
)
def test_why_there_is_no_further_epoch(epoch: int, waited: int, stop: str) -> None:
    plan = make_plan(state(epochs_without_best=waited), epoch, units(3), TRAIN, EVOLVE, 1)
    assert (plan.epoch, plan.stop, bool(plan.batches)) == (epoch, stop, not stop)


def test_zero_epochs_only_measure_the_seed() -> None:
    none = TRAIN.model_copy(update={"epochs": 0})
    assert make_plan(state(), 1, units(3), none, EVOLVE, 1).stop == "all 0 epochs are done"


@pytest.mark.parametrize(
    ("step", "budgets"),
    # 12 - 8·step/3 over 4 steps: 12, 9.33, 6.67, 4; an epoch longer than planned keeps the last budget.
    [(0, [12, 9]), (2, [7, 4]), (3, [4, 4])],
)
def test_the_edit_budget_falls_over_all_steps_of_the_run(step: int, budgets: list[int]) -> None:
    plan = make_plan(state(step=step), 2, units(6), TRAIN, EVOLVE, 1)
    assert [batch.edit_budget for batch in plan.batches] == budgets


def test_batches_name_their_units_sorted_and_their_types_by_slug() -> None:
    pool = [*units(2, "Beta Two", "b"), *units(1, "alpha", "a")]
    (batch,) = make_plan(state(), 1, pool, TRAIN, EVOLVE, 1).batches
    assert batch.units == ("a00", "b00", "b01")
    assert batch.types == ("alpha", "beta-two")


def test_batches_depend_on_epoch_and_seed_and_on_nothing_else() -> None:
    pool = units(30)
    first = make_plan(state(), 1, pool, TRAIN, EVOLVE, 1)
    again = make_plan(state(p_hat={"u00": 0.1}), 1, pool[::-1], TRAIN, EVOLVE, 1)
    assert again == first
    for epoch, seed in ((2, 1), (1, 2)):
        other = make_plan(state(), epoch, pool, TRAIN, EVOLVE, seed)
        assert [batch.units for batch in other.batches] != [batch.units for batch in first.batches]


def test_batches_follow_the_correctness_known_now() -> None:
    """Of 6 units 4 are right; the ratio .4 lets ⌊2·.4/.6 + ½⌋ = 1 right one in beside the 2 wrong ones."""
    known = {f"u{k:02d}": Observation(call="c", right=k >= 2) for k in range(6)}
    (batch,) = make_plan(state(correctness=known), 1, units(6), TRAIN, EVOLVE, 1).batches
    assert {"u00", "u01"} < set(batch.units)
    assert len(batch.units) == 3


def test_total_steps_are_epochs_times_the_batches_of_a_trial_plan() -> None:
    """10 diagnosis units, 3 wrong: ⌊3·.4/.6 + ½⌋ = 2 right ones more, 5 in ⌈5/2⌉ = 3 batches, 2 epochs: 6."""
    bench, questions = benchmark(10, 4, 4)
    config = Config(train=Train(epochs=2, batch_size=2, min_class_per_batch=1, batch_correct_ratio=0.4))
    rows = [row(q, q.question_id not in ("d00", "d01", "d02")) for q in questions]
    start = initial_state(initial_best(TEXTS, rows, bench), TEXTS, rows, bench, config)
    assert start.total_steps == 6
    assert (start.epoch, start.step) == (0, 0)


def test_there_is_at_least_one_step_in_total() -> None:
    bench, questions = benchmark(2, 2, 0)
    rows = [row(q, False) for q in questions]
    config = Config(train=Train(epochs=0))
    assert initial_state(initial_best(TEXTS, rows, bench), TEXTS, rows, bench, config).total_steps == 1


def test_no_test_outcome_is_in_the_initial_state() -> None:
    """Nor one of an untrainable type, nor an error."""
    bench, questions = benchmark(2, 2, 3)
    rows = [row(q, None if q.question_id == "v01" else True) for q in questions]
    start = initial_state(initial_best(TEXTS, rows, bench), TEXTS, rows, bench, Config())
    assert set(start.correctness) == {"d00", "d01", "v00"}
    assert start.seen == {}  # the baseline is none of the three sources of p̂ (SPEC §7.10)
    assert start.correctness["d00"] == Observation(call="key of d00", right=True)
    text = start.model_dump_json()
    assert "v00" in text
    assert not any(name in text for name in ("t00", "t01", "t02", "rare"))


def test_test_outcomes_do_not_move_the_start() -> None:
    bench, questions = benchmark(4, 4, 6)
    starts = []
    for test_right in (False, True, None):
        rows = [row(q, test_right if q.question_id[0] == "t" else True) for q in questions]
        best = initial_best(TEXTS, rows, bench)
        starts.append((best, initial_state(best, TEXTS, rows, bench, Config())))
    assert starts[0] == starts[1] == starts[2]


def test_the_ladder_is_cold_at_the_start() -> None:
    bench, questions = benchmark(2, 2, 0)
    rows = [row(q, True) for q in questions]
    start = initial_state(initial_best(TEXTS, rows, bench), TEXTS, rows, bench, Config())
    assert start.p_hat == {}
    assert (start.rejected, start.probations, start.cooldowns) == ({}, {}, {})


def test_the_seed_is_the_first_best_with_its_validation_accuracy() -> None:
    """v00 right, v01 wrong, v02 right; v-rare is not trained and d and t are not validation: 2 of 3."""
    bench, questions = benchmark(2, 3, 2)
    rows = [row(q, q.question_id in ("v00", "v02", "d00", "t00", "v-rare")) for q in questions]
    report = initial_best(TEXTS, rows, bench)
    assert report.best == Best(
        skills=TEXTS.skills.digest, prompts=TEXTS.prompts.digest, accuracy=0.666667, epoch=0
    )
    assert (report.texts, report.promoted) == (TEXTS, True)


def test_the_seed_versions_are_noted() -> None:
    bench, questions = benchmark(2, 2, 0)
    rows = [row(q, True) for q in questions]
    start = initial_state(initial_best(TEXTS, rows, bench), TEXTS, rows, bench, Config())
    assert [(note.kind, note.digest, note.parent, note.source) for note in start.versions] == [
        ("skills", TEXTS.skills.digest, None, "seed"),
        ("prompts", TEXTS.prompts.digest, None, "seed"),
    ]
