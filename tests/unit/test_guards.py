"""The leak guard: what of a held-out question may not enter a skill (SPEC §5)."""

import pytest

from skillmake.edits import Edit, apply_edits
from skillmake.guards import LeakGuard
from tests.worlds import question

LONG = "My card was charged twice on the third of May and the shop will not answer me"  # 17 words
SHORT = "Where is my refund now?"  # 5 words
TINY = "It is broken"  # 3 words: too common to tell
GUARD = LeakGuard(
    [
        question("val-7", question=LONG),
        question("test-1", question=SHORT),
        question("test-2", question=TINY),
        question("test-3", question="One two three four five six seven eight nine ten eleven twelve"),
    ]
)


def reason(text: str, answer: str = "") -> str | None:
    return GUARD.reason(Edit(op="example" if answer else "add", text=text, answer=answer))


def test_a_rule_in_own_words_is_clean() -> None:
    assert reason("- A double charge goes to billing, whatever the shop says.") is None


@pytest.mark.parametrize(
    "frame", ["{}", "- As in {}: yes", "see ({}), too", '"{}"', "[{}]", "ids: {};", "'{}'"]
)
def test_the_id_of_a_held_out_question_is_a_leak(frame: str) -> None:
    assert reason(frame.replace("{}", "val-7")) == "names the held-out question val-7"


@pytest.mark.parametrize(
    "text", ["See val-7.", "Is it val-7?", "It was val-7!", "`val-7`", "**val-7**", "<val-7>"]
)
def test_an_id_is_found_behind_any_punctuation(text: str) -> None:
    assert reason(text) == "names the held-out question val-7"


@pytest.mark.parametrize("text", ["val-77", "val", "xval-7", "interval-7"])
def test_a_word_that_only_resembles_an_id_is_clean(text: str) -> None:
    assert reason(text) is None


def test_a_bare_number_is_no_id() -> None:
    guard = LeakGuard([question("3")])
    assert guard.reason(Edit(op="example", text="Within 3 days?", answer="3")) is None


def test_an_id_with_punctuation_of_its_own_is_found() -> None:
    guard = LeakGuard([question("set/a:(1).")])
    assert (
        guard.reason(Edit(op="add", text="As in set/a:(1)., yes")) == "names the held-out question set/a:(1)."
    )


def test_twelve_words_in_a_row_are_a_leak_whatever_their_case_and_signs() -> None:
    twelve = "CARD was charged, twice; on the third of May - and the shop"  # words 2 to 13
    assert reason(f"- {twelve}") == "copies 12 words of the held-out question val-7"


def test_eleven_words_in_a_row_are_clean() -> None:
    assert reason("card was charged twice on the third of May and the") is None


def test_a_question_of_twelve_words_is_a_leak_as_a_whole() -> None:
    assert reason("one two three four five six seven eight nine ten eleven twelve") is not None


def test_a_short_question_is_a_leak_as_a_whole() -> None:
    assert reason("- If they ask `where is my refund now`: billing.") == "copies the held-out question test-1"
    assert reason("- If they ask where is my refund: billing.") is None


def test_a_question_of_fewer_than_four_words_may_occur() -> None:
    assert reason("- When it is broken: bug.") is None
    assert reason("It is broken", answer="yes") is None


def test_a_worked_example_may_not_be_nearly_a_held_out_question() -> None:
    near = "Where is my refund noe"  # one sign of 22 differs: ratio 2·21/44 = 95.5 ≥ 90
    assert reason(near, answer="yes") == "is nearly the held-out question test-1"
    assert reason(near) is None  # a rule is no example


def test_a_worked_example_of_another_question_is_clean() -> None:
    assert reason("Where is the invoice of June?", answer="yes") is None


@pytest.mark.parametrize("text", [LONG, SHORT, "val-7"])
def test_the_answer_of_an_example_cannot_carry_a_held_out_text(text: str) -> None:
    assert reason("Which one is it?", answer=text) is not None


@pytest.mark.parametrize("text", [LONG, SHORT, "val-7"])
def test_the_section_name_cannot_carry_a_held_out_text(text: str) -> None:
    assert GUARD.reason(Edit(op="add", section=text, text="- x")) is not None


def test_in_a_script_without_spaces_each_sign_counts_as_a_word() -> None:
    guard = LeakGuard(
        [
            question("zh-1", question="我的银行卡在五月三日被重复扣款了"),
            question("zh-2", question="退款在哪里?"),
        ]
    )
    assert (
        guard.reason(Edit(op="add", text="- 银行卡在五月三日被重复扣: 账单")) is not None
    )  # 12 signs in a row
    assert guard.reason(Edit(op="add", text="- 在五月三日被重复扣款: 账单")) is None  # 10 signs
    assert guard.reason(Edit(op="add", text="- 退款在哪里: 账单")) == "copies the held-out question zh-2"


def test_an_anchor_and_a_reason_never_enter_the_skill() -> None:
    assert GUARD.reason(Edit(op="delete", anchor=LONG, reason="val-7", support=("val-7",))) is None


def test_of_two_questions_with_the_same_text_the_first_id_is_named() -> None:
    guard = LeakGuard([question("b", question=SHORT), question("a", question=SHORT)])
    assert guard.reason(Edit(op="add", text=SHORT)) == "copies the held-out question a"


def test_without_held_out_questions_everything_is_clean() -> None:
    guard = LeakGuard([])
    assert guard.reason(Edit(op="example", text=LONG, answer="yes")) is None


def test_a_leak_does_not_reach_the_skill() -> None:
    text = "---\nname: a\ndescription: d\n---\n"
    edits = [Edit(op="example", text=LONG, answer="yes"), Edit(op="example", text="Own words?", answer="no")]
    result = apply_edits(text, edits, budget=2, fuzzy_threshold=88, token_cap=4000, leaks=GUARD.reason)
    assert [(report.status, report.detail) for report in result.reports] == [
        ("leak", "copies 12 words of the held-out question val-7"),
        ("applied", ""),
    ]
    assert "charged twice" not in result.text
