"""Gates and what is known already: outcomes of the same texts are not paid again, others never used."""

import pytest

from skillmake.texts import Texts
from tests.gating import Hire, Student, gated, known_under, names, sides, texts
from tests.worlds import units


def test_what_is_known_under_the_same_text_is_not_asked_again(hire: Hire) -> None:
    old, pool = f"old {names(5, 6, 7)}", units(10)
    before = known_under(hire(Student()), texts(old), pool)
    student = Student()
    result = gated(hire(student), old, f"new {names(*range(10))}", pool, before)
    assert sides(student) == (0, 10)
    assert all(row.looked_up for row in result.baseline_rows)
    assert {row.question_id: row.right for row in result.baseline_rows} == {
        f"u{k:02d}": k in (5, 6, 7) for k in range(10)
    }
    assert not any(row.looked_up for row in result.candidate_rows)
    asked_anew = gated(hire(Student()), old, f"new {names(*range(10))}", pool)
    assert result.decision == asked_anew.decision


@pytest.mark.parametrize("other", [texts("old u01"), texts("old", prompt="Answer well.")])
def test_an_outcome_under_another_skill_or_prompt_is_never_used(hire: Hire, other: Texts) -> None:
    """What is known says that u01 was right; with the current texts it is wrong and must be asked."""
    pool = units(10)
    before = known_under(hire(Student()), other, pool)
    student = Student()
    result = gated(hire(student), "old", f"new {names(*range(10))}", pool, before)
    assert sides(student) == (10, 10)
    assert not any(row.looked_up or row.right for row in result.baseline_rows)


def test_known_outcomes_of_later_rungs_save_calls(hire: Hire) -> None:
    """All 20 are known to be right, so no win is possible: one candidate call shows that, none tells it."""
    old, pool = f"old {names(*range(20))}", units(20)
    before = known_under(hire(Student()), texts(old), pool)
    student = Student()
    result = gated(hire(student), old, f"new {names(*range(20))}", pool, before)
    assert result.decision is not None
    assert result.decision.stop_reason == "futile"
    assert sides(student) == (0, 1)
