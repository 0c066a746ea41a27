"""What the jobs of infer, eval and diagnose read."""

from pathlib import Path

import pytest

from skillmake.artifacts import canonical_line
from skillmake.errors import DataError
from skillmake.mode_job import answered_questions
from tests.worlds import question


def test_of_twins_only_one_may_have_a_known_answer(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    known = [question("p1", unit_id="p"), question("a")]
    file.write_text("".join(canonical_line(each) + "\n" for each in known))
    assert answered_questions(file) == {"p1": known[0], "a": known[1]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no right answer is known\n  → a diagnosis needs questions with an `answer`"),
        ("{}\n", "not a file of questions: Field required"),
        ("[", "not a file of questions: Invalid JSON"),
    ],
)
def test_a_file_that_cannot_be_diagnosed_with_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        answered_questions(file)
    assert str(caught.value).startswith(f"{file}: {says}")
