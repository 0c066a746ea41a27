"""Questions of any file, with or without the right answers."""

import json
from pathlib import Path

import pytest

from skillmake.errors import DataError
from skillmake.infer import Asked, load_asked, predictions, summary, ungraded
from tests.worlds import question, row


def written(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in rows))
    return path


def ask(question_id: str, **more: object) -> dict[str, object]:
    return {"question_id": question_id, "task_type": "alpha", "question": f"{question_id}?", **more}


def ids(asked: Asked) -> list[str]:
    return [each.question_id for each in asked.questions]


def test_answers_may_be_missing(tmp_path: Path) -> None:
    file = written(
        tmp_path / "q.jsonl", ask("z"), ask("y", options=["1", "2"]), ask("x", options=["1", "2"], answer="2")
    )
    asked = load_asked(file)
    assert ids(asked) == ["z", "y", "x"], "the order of the file"
    assert asked.labelled == {"x"}
    assert asked.questions[1].options == ("1", "2")


def test_the_first_units_are_whole_and_of_the_types_asked_for(tmp_path: Path) -> None:
    file = written(
        tmp_path / "q.jsonl",
        ask("c", task_type="beta"),
        ask("p2", unit_id="p"),
        ask("b"),
        ask("p1", unit_id="p"),
        ask("a"),
    )
    assert ids(load_asked(file, first=2)) == ["c", "p2", "p1"]
    assert ids(load_asked(file, ["alpha"], 2)) == ["p2", "b", "p1"]
    assert ids(load_asked(file, ["beta"])) == ["c"]
    with pytest.raises(DataError, match=r"no task type 'alfa'\. Did you mean `alpha`"):
        load_asked(file, ["beta", "alfa"])


def test_problems_of_the_file_are_named_with_their_lines(tmp_path: Path) -> None:
    file = written(tmp_path / "q.jsonl", ask("a"), ask("a"), ask("b", options=["1"]))
    with file.open("a") as out:
        out.write("{no json\n[1]\n")
    with pytest.raises(DataError) as caught:
        load_asked(file)
    text = str(caught.value)
    for place in (
        "line 2: question_id a is already used",
        "line 3: ",
        "line 4: not valid",
        "line 5: expected",
    ):
        assert place in text


def test_nothing_is_held_against_an_answer_that_is_not_known() -> None:
    asked = Asked((question("b"), question("c"), question("a")), frozenset({"a", "b"}))
    rows = [row("a", False, "1"), row("b", True, "2"), row("c", False, "3")]
    found = predictions(asked, rows)
    assert [(each["question_id"], each["right"]) for each in found] == [
        ("b", True),
        ("c", None),
        ("a", False),
    ]
    assert set(found[0]) == {
        *("question_id", "unit_id", "task_type", "prediction", "right", "stop_reason", "error"),
    }
    assert [each.right for each in ungraded(asked, rows)] == [False, True, None]
    assert summary(asked, found) == "3 questions answered, 1 of 2 right (0.500), 1 without a known answer"
    failed = predictions(asked, [*rows[:2], row("c", None, "3")])
    assert summary(asked, failed).endswith(", 1 without a known answer, 1 errors")
