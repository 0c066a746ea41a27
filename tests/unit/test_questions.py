import json
from pathlib import Path
from typing import Any

import pytest

from skillmake.errors import DataError
from skillmake.questions import Question, dump_questions, load_questions, parse_questions, slug


def line(question_id: str = "q1", **keys: Any) -> str:
    return json.dumps({"question_id": question_id, "task_type": "t", "question": "?", "answer": "a", **keys})


def message(*lines: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        parse_questions(lines, "q.jsonl")
    return caught.value.message


def test_a_single_question_is_its_own_unit_and_the_result_is_sorted() -> None:
    found = parse_questions([line("b"), "", "  ", line("a", unit_id=None)], "q.jsonl")
    assert [(question.question_id, question.unit_id) for question in found] == [("a", "a"), ("b", "b")]


def test_bom_windows_line_ends_and_line_separators_in_texts_are_tolerated() -> None:
    data = "\ufeff" + line("a", question="x\u2028y") + "\r\n\r\n" + line("b") + "\r\n"
    assert [question.question for question in parse_questions(data.encode(), "q")] == ["x\u2028y", "?"]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (b"\xff\xfe", "q.jsonl: line 1: not UTF-8 (byte 1 of the line)"),
        ("{", "q.jsonl: line 1: not valid JSON: Expecting property name"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": 1e999}', "1e999 is not a JSON number"),
        ('{"a": 1, "a": 2}', "key 'a' is given twice"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ("[" * 100_000, "line 1: not valid JSON: nested too deeply"),
        ("[1]", "line 1: expected a JSON object, got [1]"),
        (line(awnser="b"), "line 1: unknown key `awnser`. Did you mean `answer`?"),
        ('{"question_id": "q1", "task_type": "t", "question": "?"}', "line 1: missing key `answer`"),
        (line(answer=3), "line 1: `answer`: Input should be a valid string, got 3"),
        (line(question=" "), 'line 1: `question`: must not be empty, got " "'),
        (line(answer=""), "line 1: `answer`: must not be empty"),
        (line("a b"), "line 1: `question_id`: an id must not contain white space"),
        (line(""), "line 1: `question_id`: an id must not be empty"),
        (line("a\u200bb"), "an id must not contain white space or control characters"),
        (line(options=["a"]), "line 1: `options`: needs at least two options"),
        (line(options=["a", "a "]), "line 1: `options`: options must be distinct"),
        (line(options=["a", ""]), "line 1: `options`: an option must not be empty"),
        (line(options=["b", "c"]), 'line 1: answer "a" is not among the options ["b", "c"]'),
        (line(task_type="因果"), 'line 1: task type "因果" cannot name a skill directory'),
    ],
)
def test_a_bad_line_is_named_with_its_problem(bad: str | bytes, expected: str) -> None:
    assert expected in message(bad)


def test_all_problems_of_a_file_are_shown() -> None:
    text = message("{", line(answer=""), line("ok"), line("x", colour="red"), line("ok"))
    assert [part.split(":")[1] for part in text.split("\n")] == [" line 1", " line 2", " line 4", " line 5"]


def test_twenty_problems_are_shown_and_the_rest_is_counted() -> None:
    text = message(*["{"] * 23)
    assert text.count("not valid JSON") == 20
    assert text.endswith("\nand 3 more")


def test_duplicate_ids_name_both_lines() -> None:
    assert message(line("a"), line("b"), line("a")) == (
        "q.jsonl: line 3: question_id a is already used on line 1"
    )


def test_a_pair_needs_two_members_of_one_type() -> None:
    assert "line 1: pair p has one member only: a (line 1)" in message(line("a", unit_id="p"), line("b"))
    three = [line(name, unit_id="p") for name in "abc"]
    assert "line 3: unit p has 3 members, at most 2" in message(*three)
    types = [line("a", unit_id="p"), line("b", unit_id="p", task_type="u")]
    assert "pair p is across task types t, u: a (line 1), b (line 2)" in message(*types)


def test_a_pair_must_not_be_called_like_a_question() -> None:
    foreign = [line("a", unit_id="c"), line("b", unit_id="c"), line("c")]
    assert "line 3: question_id c is also the unit_id of a pair" in message(*foreign)
    owner = [line("a"), line("b", unit_id="a")]
    assert "line 1: question_id a is also the unit_id of a pair" in message(*owner)


@pytest.mark.parametrize("broken", ["{", line("b", unit_id="p", answer="")])
def test_a_broken_twin_does_not_make_the_sound_one_look_alone(broken: str) -> None:
    text = message(line("a", unit_id="p"), broken)
    assert "line 2" in text
    assert "one member" not in text


def test_two_types_with_one_skill_directory_are_an_error() -> None:
    text = message(line("a", task_type="Top up"), line("b", task_type="top-up"))
    assert text.endswith('line 2: task types "Top up" (line 1) and "top-up" share the skill directory top-up')


def test_an_empty_file_is_an_error() -> None:
    assert message("", " ") == "q.jsonl: holds no question"


def test_dump_and_load_agree_and_are_canonical(tmp_path: Path) -> None:
    questions = [
        Question(
            question_id="b", task_type="t", question="é", answer="1", options=("1", "2"), meta={"k": [1]}
        ),
        Question(question_id="a", task_type="t", question="?", answer="x"),
    ]
    path = tmp_path / "new" / "q.jsonl"
    dump_questions(path, questions)
    assert load_questions(path) == sorted(questions, key=lambda question: question.question_id)
    before = path.read_bytes()
    dump_questions(path, load_questions(path))
    assert path.read_bytes() == before


def test_a_missing_file_and_a_folder_are_data_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(DataError, match=str(path)):
            load_questions(path)


@pytest.mark.parametrize(
    ("task_type", "expected"),
    [("Top-up", "top-up"), ("card  payment!", "card-payment"), ("Élan_2", "elan-2"), ("--a--", "a")],
)
def test_slug(task_type: str, expected: str) -> None:
    assert slug(task_type) == expected


@pytest.mark.parametrize("task_type", ["", "!!", "x" * 65])
def test_slug_of_what_cannot_name_a_directory(task_type: str) -> None:
    with pytest.raises(DataError, match="cannot name a skill directory"):
        slug(task_type)
