"""The gain on the sealed test and its interval, against values computed by hand."""

import pytest

from skillmake.agent.loop import Prediction
from skillmake.metrics import bootstrap_interval, paired_gain
from skillmake.metrics import test_result as result_on_test  # not a test of its own
from skillmake.units import make_units
from tests import worlds
from tests.worlds import question, units


def row(question_id: str, right: bool | None, **more: object) -> Prediction:
    """A rollout; None is an infrastructure error."""
    return worlds.row(question_id, right, question_id, **more)


def test_the_gain_is_paired_over_the_units_that_both_sides_have() -> None:
    """Both have a, b, c, d: seed 1 of 4, delivered 3 of 4. x and y count on neither side."""
    before = {"a": True, "b": False, "c": False, "d": False, "x": False}
    after = {"a": True, "b": True, "c": True, "d": False, "y": True}
    found = paired_gain(before, after, (1,))
    assert found["seed"] == {"accuracy": 0.25}
    assert found["delivered"] == {"accuracy": 0.75}
    assert (found["gain"], found["units"]) == (0.5, 4)


def test_a_loss_is_a_negative_gain() -> None:
    assert paired_gain({"a": True, "b": True}, {"a": False, "b": True}, (1,))["gain"] == -0.5


def test_no_unit_at_all_has_no_gain() -> None:
    found = paired_gain({}, {"a": True}, (1,))
    assert (found["gain"], found["gain_ci"], found["units"]) == (0.0, [0.0, 0.0], 0)


def test_a_pair_counts_once_and_only_if_it_is_right_as_a_whole() -> None:
    """Seed: u00 right, pair half right → 1 of 2 units. Delivered: both right → 2 of 2."""
    twins = make_units([question("q1", unit_id="pair"), question("q2", unit_id="pair")])
    of = [*units(1), *twins]
    before = [row("u00", True), row("q1", True), row("q2", False)]
    after = [row("u00", True), row("q1", True), row("q2", True)]
    found = result_on_test(of, before, after, 1)
    assert (found["seed"]["accuracy"], found["delivered"]["accuracy"]) == (0.5, 1.0)
    assert (found["gain"], found["units"]) == (0.5, 2)


def test_a_unit_with_an_error_on_one_side_leaves_both() -> None:
    found = result_on_test(units(2), [row("u00", False), row("u01", None)], rows_right(2), 1)
    assert (found["units"], found["gain"]) == (1, 1.0)


def rows_right(n: int) -> list[Prediction]:
    return [row(f"u{k:02d}", True) for k in range(n)]


def test_types_are_reported_apart() -> None:
    of = [*units(2), *units(1, "beta", "b")]
    before = [row("u00", True), row("u01", False), row("b00", True)]
    after = [row("u00", True), row("u01", True), row("b00", False)]
    found = result_on_test(of, before, after, 1)
    assert found["gain"] == 0.0
    assert {name: (part["gain"], part["units"]) for name, part in found["by_type"].items()} == {
        "alpha": (0.5, 2),
        "beta": (-1.0, 1),
    }


def test_the_interval_is_the_same_for_the_same_seed() -> None:
    values = [1, 0, 0, -1, 1, 1, 0, 0, 0, 1] * 3
    assert bootstrap_interval(values, (1, "alpha")) == bootstrap_interval(values, (1, "alpha"))
    several = {tuple(bootstrap_interval(values, (seed,))) for seed in range(6)}
    assert len(several) > 1


def test_the_interval_of_what_never_varies_is_a_point() -> None:
    assert bootstrap_interval([1] * 7, (1,)) == [1.0, 1.0]
    assert bootstrap_interval([0] * 7, (1,)) == [0.0, 0.0]
    assert bootstrap_interval([], (1,)) == [0.0, 0.0]


def test_the_interval_is_about_two_standard_errors_wide() -> None:
    """60 of 100 units gain: mean .6, standard error √(.6·.4/100) = .049, so .6 ± 1.96·.049 = [.504, .696]."""
    low, high = bootstrap_interval([1] * 60 + [0] * 40, (1,))
    assert low == pytest.approx(0.504, abs=0.015)
    assert high == pytest.approx(0.696, abs=0.015)


def test_the_interval_has_the_sign_of_its_values() -> None:
    low, high = bootstrap_interval([-1] * 60 + [0] * 40, (1,))
    assert low < -0.6 < high < 0
