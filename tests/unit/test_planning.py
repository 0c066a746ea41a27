"""What the gates of a run can see, on ladders counted by hand."""

import pytest

from skillmake.config.models import Gate
from skillmake.errors import ConfigError, DataError
from skillmake.planning import (
    Assumed,
    Sight,
    TypePlan,
    fewest_wins,
    plan_types,
    sight,
    sight_warnings,
    trial,
)
from skillmake.start import Start
from skillmake.texts import Texts, Version
from tests.starts import TEXTS, start

# Of 8 diagnosis units 4 are wrong; with round(4 * .4 / .6) = 3 right ones a batch has 7 of them.
SIZES = {"alpha": (8, 9, 7), "beta": (8, 9, 7)}
FEW = 20  # simulations


def plans(of: Start, assumed: Assumed | None = None) -> list[TypePlan]:
    known = assumed or Assumed()
    return plan_types(of, known, trial(of, known), FEW)


def test_units_of_the_ladder_are_those_outside_of_an_average_batch() -> None:
    alpha, beta = plans(start(SIZES))
    assert (alpha.task_type, alpha.diagnosis, alpha.validation, alpha.batch) == ("alpha", 8, 9, 7)
    assert (alpha.ladder, alpha.gates) == (10, 1)  # 9 + 8 - 7
    assert (beta.task_type, beta.ladder) == ("beta", 10)


def test_small_batches_are_averaged_and_counted() -> None:
    (alpha, _) = plans(start(SIZES, train={"batch_size": 8, "min_class_per_batch": 2}))
    assert (alpha.batch, alpha.gates) == (4, 2)  # 7 units in two batches: 3.5, rounded up
    assert alpha.ladder == 13


@pytest.mark.parametrize(
    ("gate", "ladder"), [({"use_diagnosis": False}, 9), ({"n_max": 6}, 6), ({"n_max": 10}, 10)]
)
def test_the_ladder_ends_at_the_parameters(gate: dict[str, object], ladder: int) -> None:
    assert plans(start(SIZES, gate=gate))[0].ladder == ladder


def test_wins_that_are_needed_and_the_smallest_lift_that_could_be_confirmed() -> None:
    (alpha, _) = plans(start(SIZES))
    assert (alpha.accept_wins, alpha.confirm_wins) == (3, 7)
    assert alpha.confirm_lift == 7 / 10


def test_nothing_can_be_confirmed_where_the_wins_are_more_than_the_units() -> None:
    (alpha, _) = plans(start(SIZES, gate={"n_max": 6}))
    assert alpha.acceptable
    assert alpha.confirm_lift is None


def test_online_control_asks_more_of_each_type_of_the_first_step() -> None:
    """Thresholds 20·1·2 = 40 and 20·2·3 = 120; e(8,0) = 56.8, e(9,0) = 102.3, e(10,0) = 186.1."""
    found = plans(start(SIZES, gate={"control": "e_lond"}))
    assert [plan.confirm_wins for plan in found] == [8, 10]


@pytest.mark.parametrize(
    ("threshold", "net", "gate", "wins"),
    [
        (1.25, 1, {}, 3),  # min_discordant
        (1.25, 5, {}, 5),
        (20, 0, {}, 7),
        (1.25, 1, {"delta_min": 0.5}, 7),  # 7 / (10 + 3) is the first share of .5
        (1.25, 1, {"delta_min": 0.5, "lambda_dir": 0}, 5),
        (1.25, 1, {"delta_min": 0.9}, 12),  # more than there are
    ],
)
def test_fewest_wins_of_ten_units(threshold: float, net: int, gate: dict[str, object], wins: int) -> None:
    assert fewest_wins(threshold, net, 10, Gate.model_validate(gate)) == wins


def test_a_run_that_can_accept_nothing_is_refused_with_the_counts_of_each_type() -> None:
    with pytest.raises(DataError) as caught:
        plans(start({**SIZES, "beta": (8, 6, 7)}, gate={"min_discordant": 11}))
    counts = "validation, 8 diagnosis of which 7 are in a batch)"
    assert caught.value.message.splitlines() == [
        "no candidate could ever be accepted:",
        f"  alpha: needs 11 wins, its ladder has 10 units (9 {counts}",
        f"  beta: needs 11 wins, its ladder has 7 units (6 {counts}",
    ]
    assert "data.pools.validation" in caught.value.hint
    assert "gate.min_discordant" in caught.value.hint


def test_without_an_epoch_there_is_nothing_to_refuse() -> None:
    found = plans(start(SIZES, gate={"min_discordant": 11}, train={"epochs": 0}))
    assert [plan.acceptable for plan in found] == [False, False]


def test_what_is_confirmed_needs_no_net_wins() -> None:
    (alpha, _) = plans(start(SIZES, gate={"w_net_min": 30}))
    assert (alpha.accept_wins, alpha.confirm_wins) == (7, 7)


def test_a_type_that_can_accept_nothing_is_kept_beside_one_that_can() -> None:
    alpha, beta = plans(start({**SIZES, "beta": (8, 6, 7)}, gate={"min_discordant": 8}))
    assert alpha.acceptable
    assert not beta.acceptable
    assert (beta.lift, beta.units_no_op, beta.units_good) == (None, 0.0, None)
    assert sight_warnings([beta], Assumed()) == [
        "beta: 7 ladder units can accept no candidate at all: add questions of this type"
    ]


def test_types_that_share_a_skill_file_are_refused_before_anything_is_paid() -> None:
    shared = Texts(
        skills=Version.of({"default-strategy/SKILL.md": "text"}, None, "seed"), prompts=TEXTS.prompts
    )
    with pytest.raises(DataError, match="both use the skill file"):
        plans(start(SIZES, texts=shared))


# --- simulations ------------------------------------------------------------------------
def test_a_longer_ladder_sees_smaller_lifts() -> None:
    config = start(SIZES).config
    short, long = (sight(n, config, Assumed(), 60) for n in (15, 40))
    assert short.lift is not None
    assert long.lift is not None
    assert long.lift < short.lift
    assert long.units_good is not None
    assert long.units_no_op < long.units_good <= 40


def test_a_lift_beyond_what_is_left_cannot_be_seen() -> None:
    """Of 6 units .06 are wrong in the mean; three of them must become right."""
    blind = sight(6, start(SIZES).config, Assumed(accuracy=0.99), FEW)
    assert blind == Sight(lift=None, units_no_op=blind.units_no_op, units_good=None)


def test_a_plan_carries_the_sight_of_its_ladder() -> None:
    of = start(SIZES)
    (alpha, _) = plans(of)
    assert alpha.lift is not None
    assert {name: getattr(alpha, name) for name in Sight.model_fields} == dict(
        sight(10, of.config, Assumed(), FEW)
    )


@pytest.mark.parametrize(
    ("lift", "says"),
    [
        (0.3, []),
        (0.31, ["need a lift of 0.31"]),
        (None, ["no lift up to 0.40 with probability 0.90"]),
    ],
)
def test_an_implausible_lift_is_warned_of(lift: float | None, says: list[str]) -> None:
    plan = TypePlan(
        task_type="alpha",
        diagnosis=8,
        validation=9,
        batch=7,
        ladder=10,
        gates=1,
        accept_wins=3,
        confirm_wins=7,
        lift=lift,
    )
    found = sight_warnings([plan], Assumed(accuracy=0.6, power=0.9))
    assert len(found) == len(says)
    for line, part in zip(found, says, strict=True):
        assert line.startswith("alpha: 10 ladder units ")
        assert part in line


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"accuracy": 80.0}, "--accuracy: 80 is not in 0 … 0.99"),
        ({"accuracy": float("nan")}, "--accuracy: nan"),
        ({"churn": 0.51}, "--churn: 0.51 is not in 0 … 0.5"),
        ({"churn": -0.1}, "--churn"),
        ({"power": 1.0}, "--power: 1 is not in 0.01 … 0.99"),
    ],
)
def test_what_is_no_share_is_named(values: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Assumed(**values)
    assert says in caught.value.message


def test_the_trial_has_the_share_of_each_type_right() -> None:
    of = start(SIZES)
    right = trial(of, Assumed(accuracy=0.25)).right
    assert len(right) == 16
    assert [sum(right[unit] for unit in right if unit.startswith(name)) for name in SIZES] == [2, 2]
