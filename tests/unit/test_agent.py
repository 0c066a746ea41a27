"""Prompt, extraction and grading."""

import pytest

from skillmake.agent.extract import extract_choice, extract_free
from skillmake.agent.graders import make_grader, word_f1
from skillmake.agent.render import build_messages
from skillmake.errors import ConfigError, DataError
from skillmake.questions import Question
from skillmake.skilltext import Example, with_examples
from tests.worlds import question

OPTIONS = ["refund", "refund status", "cancel"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cancel", "cancel"),
        (" Cancel.\n", "cancel"),
        ("**refund**", "refund"),
        ("I think so.\nAnswer: refund status", "refund status"),
        ("Answer: cancel\nNo, wait.\nFinal answer: refund", "refund"),
        ("The answer is: cancel", "cancel"),  # not an answer line, but a mention
        ("They want to know the refund status", "refund status"),
        ("refund or cancel?", None),
        ("refund status or refund", None),
        ("refunds", None),
        ("", None),
        ("Answer: something else", None),
    ],
)
def test_extract_choice(text: str, expected: str | None) -> None:
    assert extract_choice(text, OPTIONS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("42", "42"), ("Let me see.\nAnswer: 42", "42"), ("one\ntwo", None), ("", None)],
)
def test_extract_free(text: str, expected: str | None) -> None:
    assert extract_free(text) == expected


def free(answer: str) -> Question:
    return question("q", options=None, answer=answer)


@pytest.mark.parametrize(
    ("name", "prediction", "answer", "right"),
    [
        ("choice", "yes", "yes", True),
        ("choice", "Yes", "yes", False),
        ("exact", "  The  Cat!", "the cat", True),
        ("exact", "the cats", "the cat", False),
        ("numeric", "about 3.04 kg", "3", True),
        ("numeric", "3.06", "3", False),
        ("numeric", "1,200", "1200", True),
        ("numeric", "3 or 4", "3", False),
        ("numeric", "none", "3", False),
        ("f1", "the red cat", "red cat", True),  # 2·2/(3+2) = .8
        ("f1", "a dog", "red cat", False),
        ("tests.unit.test_agent:longer_than_answer", "yes!", "yes", True),
    ],
)
def test_graders(name: str, prediction: str, answer: str, right: bool) -> None:
    grade = make_grader(name, tolerance=0.05, f1_threshold=0.8)
    assert grade(prediction, free(answer)) is right


def longer_than_answer(prediction: str, asked: Question) -> bool:
    return len(prediction) > len(asked.answer)


def broken(prediction: str, asked: Question) -> bool:
    raise RuntimeError(f"no {prediction} for {asked.question_id}")


def not_a_bool(prediction: str, asked: Question) -> int:
    return len(prediction + asked.answer)


def test_word_f1_by_hand() -> None:
    assert word_f1("a b b", "b b c") == pytest.approx(2 * 2 / 6)
    assert word_f1("", "x") == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chioce", "no grader 'chioce'"),
        ("no.such.module:f", "cannot load"),
        ("tests.unit.test_agent:missing", "cannot load"),
        ("tests.unit.test_agent:OPTIONS", "not callable"),
    ],
)
def test_a_grader_that_is_not_there(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_grader(name)


def test_a_users_grader_that_fails_names_the_question() -> None:
    with pytest.raises(DataError, match="question q: RuntimeError: no yes for q"):
        make_grader("tests.unit.test_agent:broken")("yes", free("yes"))
    with pytest.raises(DataError, match="is not a bool"):
        make_grader("tests.unit.test_agent:not_a_bool")("yes", free("yes"))


def test_an_answer_that_is_no_number_is_the_datas_fault() -> None:
    with pytest.raises(DataError, match="is not a number"):
        make_grader("numeric")("3", free("three"))


HEAD = "---\nname: alpha\ndescription: d\n---\n\n## Rules\n\n- Be brief.\n"
SHOWN = with_examples(
    HEAD,
    [
        Example("My card was lost", "no"),
        Example("Is the blue boat so?", "yes"),
        Example("Is u1 the one?", "no"),
    ],
)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (None, ["My card was lost", "Is the blue boat so?", "Is u1 the one?"]),
        (3, ["My card was lost", "Is the blue boat so?", "Is u1 the one?"]),
        # "Is u1 so?" shares u1 and is with one of them, is and so with the other, nothing with the first;
        # a word that fewer texts have weighs more, and the shorter text has less besides it
        (2, ["Is the blue boat so?", "Is u1 the one?"]),
        (1, ["Is u1 the one?"]),
    ],
)
def test_the_nearest_examples_are_shown_and_the_nearest_comes_last(
    most: int | None, expected: list[str]
) -> None:
    messages = build_messages(question("u1"), "Sort.", SHOWN, "system", most)
    assert (
        messages[0]["content"] == "Sort.\n\n## Rules\n\n- Be brief.\n\nAnswer with exactly one of: yes; no."
    )
    assert [m["content"] for m in messages[1:-1] if m["role"] == "user"] == expected
    assert messages[-2]["content"] == "no"
    assert messages[-1] == {"role": "user", "content": "Is u1 so?"}


def test_options_may_stand_with_the_question() -> None:
    messages = build_messages(question("u1"), "Sort.", HEAD)
    assert messages[0]["content"] == "Sort.\n\n## Rules\n\n- Be brief."
    assert messages[1]["content"].startswith("Is u1 so?\n\nOptions:\n- yes\n- no\n")
