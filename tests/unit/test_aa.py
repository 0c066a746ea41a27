"""The A/A test: draws of one text against each other, with outcomes set by hand (SPEC §6.1)."""

from collections.abc import Iterable

import pytest

from skillmake.aa import AaReport, aa_test, accuracy, churn, no_ops, report, type_row, verdict
from skillmake.agent.loop import Prediction
from skillmake.config.models import Gate
from skillmake.errors import ConfigError, TrainingAborted
from skillmake.questions import Question
from skillmake.texts import Texts
from tests.starts import start
from tests.worlds import row

GATE = Gate(n_max=40, rung=40)
SIZES = {"alpha": (4, 6, 2), "beta": (4, 5, 2)}


class Student:
    """Answers right, but wrong or not at all where it is told so: by draw, the questions."""

    name = "scripted"

    def __init__(
        self, wrong: dict[int, set[str]] | None = None, failed: dict[int, set[str]] | None = None
    ) -> None:
        self.wrong, self.failed = wrong or {}, failed or {}
        self.asked: list[tuple[int, int]] = []

    def run(self, questions: Iterable[Question], texts: Texts, *, replicate: int = 0) -> list[Prediction]:
        found = list(questions)
        self.asked.append((replicate, len(found)))
        assert texts.skills.source == "seed"
        return [
            row(
                q.question_id,
                None
                if q.question_id in self.failed.get(replicate, ())
                else q.question_id not in self.wrong.get(replicate, ()),
                f"{q.question_id}:{replicate}",
                task_type=q.task_type,
                replicate=replicate,
            )
            for q in found
        ]


def test_churn_is_the_mean_over_pairs_of_draws() -> None:
    units = [[True, False, True], [True, True, True]]  # 2 of 3 pairs differ, then none
    assert churn(units) == 0.333333
    assert accuracy(units) == 0.833333


def test_a_no_op_has_two_different_draws_of_each_unit_in_either_order() -> None:
    found = list(no_ops([[True, False], [False, False]], 50, (1,)))
    assert len(found) == 50
    assert {(b[0], c[0]) for b, c in found} == {(True, False), (False, True)}
    assert {(b[1], c[1]) for b, c in found} == {(False, False)}
    assert found == list(no_ops([[True, False], [False, False]], 50, (1,)))


def test_the_rates_of_a_type_are_those_of_its_no_ops() -> None:
    """Of 8 units that always differ a no-op wins all with probability 1/256, and 7 wins and a loss
    (e = 6.97) or fewer do not confirm; 6 or more wins (e(6,2) = 1.85, e(5,3) = .76) are let in: 37 of 256."""
    found = type_row("alpha", [[True, False]] * 8, 2, Gate(futility=0), 2000, (1,))
    assert (found.units, found.left_out, found.accuracy, found.churn) == (8, 2, 0.5, 1.0)
    assert found.false_confirm == pytest.approx(1 / 256, abs=0.006)  # standard error .0014
    assert found.false_provisional == pytest.approx(36 / 256, abs=0.03)  # standard error .0078
    assert 1 <= found.units_no_op <= 8


def test_without_churn_nothing_is_let_in() -> None:
    found = type_row("alpha", [[True, True]] * 5 + [[False, False]] * 5, 0, GATE, 20, (1,))
    assert (found.false_confirm, found.false_provisional, found.churn) == (0, 0, 0)


def test_noise_of_one_draw_of_a_text_stays_below_the_bound() -> None:
    found = report({"alpha": [[True, False]] * 40}, {}, Gate(rung=5), 400, 1)
    assert 0 < found.overall.false_confirm <= found.bound == 0.05
    assert not found.dishonest


def test_types_are_counted_together() -> None:
    found = report(
        {"beta": [[True, True]], "alpha": [[True, False], [True, True], [False, False]]},
        {"beta": 2},
        GATE,
        10,
        1,
    )
    assert [line.task_type for line in found.types] == ["alpha", "beta"]
    assert (found.draws, found.repeats, found.runs) == (2, 10, 20)
    assert found.standard_error == 0.048734  # sqrt(.05 * .95 / 20)
    assert (found.overall.units, found.overall.left_out) == (4, 2)
    assert (found.overall.accuracy, found.overall.churn) == (0.625, 0.25)
    steps = [line.units_no_op for line in found.types]
    assert found.overall.units_no_op == pytest.approx(sum(steps) / 2)


def test_a_change_between_first_and_last_draw_is_noticed() -> None:
    """e(10,0) = 2047/11 and e(0,10) = 1/11."""
    found = report({"alpha": [[False, True, True]] * 10}, {}, GATE, 1, 1)
    assert (found.drift_wins, found.drift_losses) == (10, 0)
    assert found.drift_e == pytest.approx((2047 / 11 + 1 / 11) / 2)
    assert found.drifts
    assert any("changed meanwhile" in line for line in verdict(found))
    back = report({"alpha": [[True, False], [False, True]] * 5}, {}, GATE, 1, 1)
    assert (back.drift_wins, back.drift_losses, back.drifts) == (5, 5, False)


@pytest.mark.parametrize(("rate", "above"), [(0.0699, False), (0.0701, True), (0.0, False)])
def test_above_the_bound_is_by_two_standard_errors(rate: float, above: bool) -> None:
    calm = report({"alpha": [[True, False], [False, True]]}, {}, GATE, 1, 1)
    overall = calm.overall.model_copy(update={"false_confirm": rate})
    found = calm.model_copy(update={"overall": overall, "bound": 0.05, "standard_error": 0.01})
    assert found.dishonest is above
    lines = "\n".join(verdict(found))
    assert ("not above the bound" in lines) is not above
    assert ("noise of the infrastructure or of the grader" in lines) is above


# --- draws ------------------------------------------------------------------------------
def test_every_validation_unit_is_asked_in_each_draw() -> None:
    student = Student(wrong={0: {"alpha-v00"}, 1: {"alpha-v00"}, 2: {"beta-v04"}})
    found = run(student, draws=3)
    assert student.asked == [(0, 11), (1, 11), (2, 11)]
    alpha, beta = found.types
    assert (alpha.units, alpha.accuracy, alpha.churn) == (6, 0.888889, 0.111111)  # 16/18; 2 of 18 pairs
    assert (beta.units, beta.accuracy, beta.churn) == (5, 0.933333, 0.133333)  # 14/15; 2 of 15 pairs


def test_a_unit_with_an_error_is_left_out() -> None:
    found = run(Student(failed={1: {"alpha-v00"}}))
    assert [(line.units, line.left_out) for line in found.types] == [(5, 1), (5, 0)]
    assert "1 units with an error are left out" in verdict(found)


def test_too_many_errors_abort_before_the_next_draw_is_paid() -> None:
    student = Student(failed={0: {"alpha-v00", "alpha-v01"}})
    with pytest.raises(TrainingAborted, match="2 of 11 rollouts"):
        run(student)
    assert student.asked == [(0, 11)]


def test_where_no_unit_was_answered_there_is_nothing_to_say() -> None:
    names = {f"{name}-v{k:02d}" for name in SIZES for k in range(6)}
    with pytest.raises(TrainingAborted, match="no validation unit"):
        aa_test(start(SIZES, train={"max_error_share": 1.0}), Student(failed={1: names}), 2, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(("draws", "repeats", "says"), [(1, 5, "--draws: 1"), (2, 0, "--repeats: 0")])
def test_too_few_are_refused_before_anything_is_asked(draws: int, repeats: int, says: str) -> None:
    student = Student()
    with pytest.raises(ConfigError, match=says):
        run(student, draws, repeats)
    assert student.asked == []


def run(student: Student, draws: int = 2, repeats: int = 5) -> AaReport:
    return aa_test(start(SIZES), student, draws, repeats)  # type: ignore[arg-type]
