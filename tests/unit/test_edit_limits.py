"""What stops an edit, how a teacher's answer is read, and how many edits a step may make (SPEC §5)."""

import json

import pytest

from skillmake.edits import Edit, consolidate_appendix, edit_budget
from skillmake.skilltext import appendix_items
from skillmake.teachers.answers import parse_edits
from tests.unit.test_edits import HEAD, TEXT, apply, refused, statuses


def test_the_budget_keeps_the_edits_meant_for_most_cases() -> None:
    edits = [
        Edit(op="add", text="- one", support=("q1",)),
        Edit(op="add", text="- two", support=("q1", "q2")),
        Edit(op="add", text="- three", support=("q3", "q3", "q3")),  # one case, named three times
        Edit(op="add", text="- four", support=("q1", "q2", "q3")),
    ]
    result = apply(*edits, budget=2)
    assert statuses(result) == ["over_budget", "applied", "over_budget", "applied"]
    assert result.clipped
    assert "- two\n- four\n" in result.text
    assert [report.edit for report in result.reports] == edits


def test_with_equal_support_the_budget_keeps_the_first() -> None:
    edits = [Edit(op="add", text=f"- {name}", support=("q",)) for name in ("one", "two", "three")]
    result = apply(*edits, budget=1)
    assert statuses(result) == ["applied", "over_budget", "over_budget"]
    assert result.reports[1].detail == "budget 1"


def test_as_many_edits_as_the_budget_are_not_clipped() -> None:
    result = apply(Edit(op="add", text="- one"), Edit(op="add", text="- two"), budget=2)
    assert not result.clipped
    assert statuses(result) == ["applied", "applied"]


@pytest.mark.parametrize("budget", [0, -1])
def test_without_a_budget_nothing_is_applied(budget: int) -> None:
    result = apply(Edit(op="add", text="- one"), budget=budget)
    assert (statuses(result), result.text, result.clipped) == (["over_budget"], TEXT, True)


@pytest.mark.parametrize(
    "edit",
    [
        Edit(op="add", text="* a refund  is NEVER a charge."),
        Edit(op="add", anchor="Read the amount", text="A refund is never a charge."),
        Edit(op="add", text="- Read the amount before the date.\n- A refund is never a charge."),
        Edit(op="example", text="two charges?", answer="other"),
        Edit(op="replace", anchor="Two charges?", text="No bill came?", answer="x"),
    ],
)
def test_what_is_there_already_is_a_duplicate(edit: Edit) -> None:
    refused(edit, "duplicate")


def test_the_second_of_two_equal_edits_is_a_duplicate() -> None:
    edit = Edit(op="add", text="- new\n- newer")
    assert statuses(apply(edit, edit)) == ["applied", "duplicate"]


def test_an_edit_with_one_new_line_is_no_duplicate() -> None:
    edit = Edit(op="add", text="- A refund is never a charge.\n- new")
    assert statuses(apply(edit)) == ["applied"]


def test_a_leak_is_refused_with_the_reason_and_the_others_go_on() -> None:
    result = apply(
        Edit(op="add", text="- secret"),
        Edit(op="add", text="- open"),
        leaks=lambda edit: "names q7" if "secret" in edit.text else None,
    )
    assert statuses(result) == ["leak", "applied"]
    assert result.reports[0].detail == "names q7"
    assert "secret" not in result.text


def test_an_edit_past_the_token_cap_is_undone() -> None:
    text = HEAD + "\n## Rules\n"
    assert len(text) == 58
    fits = Edit(op="add", text="x" * 20)  # an empty line, 20 signs, a line end: 58 + 22 = 80 = 20 · 4
    long = Edit(op="add", text="y" * 21)
    assert statuses(apply(fits, text=text, cap=20)) == ["applied"]
    result = apply(long, text=text, cap=20)
    assert (statuses(result), result.text) == (["over_cap"], text)
    assert result.reports[0].detail == "21 tokens of 20"


def test_a_text_past_the_cap_may_shrink_but_not_grow() -> None:
    result = apply(Edit(op="delete", anchor=" before the date"), Edit(op="add", text="- x"), cap=1)
    assert statuses(result) == ["applied", "over_cap"]


@pytest.mark.parametrize(
    "edit",
    [
        Edit(op="add", text=" \n"),
        Edit(op="replace", anchor="Read", text=""),
        Edit(op="example", text="", answer="yes"),
        Edit(op="example", text="A third?"),
        Edit(op="replace", anchor="the amount", text="the amount"),
    ],
)
def test_an_edit_that_says_nothing_has_no_effect(edit: Edit) -> None:
    refused(edit, "no_effect")


def test_each_edit_sees_what_the_ones_before_it_did() -> None:
    result = apply(
        Edit(op="add", text="- new rule"), Edit(op="replace", anchor="new rule", text="newer rule")
    )
    assert statuses(result) == ["applied", "applied"]
    assert "- newer rule\n" in result.text
    assert "- new rule\n" not in result.text


# --- a teacher's answer ---------------------------------------------------------------
EDIT = {"op": "add", "text": "- x", "support": ["q1", "q2"]}


@pytest.mark.parametrize("frame", ["{}", "```json\n{}\n```", "Here it is:\n\n```\n{}\n```\nDone.", "  {} "])
def test_edits_are_read_from_an_answer_also_behind_a_fence(frame: str) -> None:
    answer = frame.replace("{}", json.dumps({"edits": [EDIT]}))
    assert parse_edits(answer) == [Edit(op="add", text="- x", support=("q1", "q2"))]


def test_an_answer_may_hold_no_edit() -> None:
    assert parse_edits('{"edits": []}') == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "there is no JSON object"),
        ("No edit is needed.", "there is no JSON object"),
        ("} {", "there is no JSON object"),
        ('{"edits": [{"op": "add", "text": "a"}, {"op": "ad', "not valid JSON: .* at character 37"),
        ('{"edits": [{"op": "add', "there is no JSON object"),
        ("{'edits': []}", "not valid JSON"),
        ('{"edits": [{"op": "add", "text": "\\ud83d"}]}', "a text holds half of a surrogate"),
        ('{"edits": ' + "[" * 100_000 + "}", "nested too deeply"),
        ("{}", r'expected \{"edits"'),
        ('[{"op": "add", "text": "a"}]', r'expected \{"edits"'),
        ('{"edits": {"op": "add"}}', r'expected \{"edits"'),
        ('{"edits": ["add"]}', "edit .*Input should be"),
        ('{"edits": [{"text": "a"}]}', "edit op: Field required"),
        ('{"edits": [{"op": "move", "text": "a"}]}', "edit op: Input should be 'add'"),
        ('{"edits": [{"op": "add", "text": 7}]}', "edit text: Input should be a valid string"),
        ('{"edits": [{"op": "add", "where": "a"}]}', "edit where: Extra inputs"),
    ],
)
def test_an_answer_that_cannot_be_used_says_why(answer: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}") as caught:
        parse_edits(answer)
    assert type(caught.value) is ValueError


# --- the appendix ---------------------------------------------------------------------
def appendix(*items: str) -> str:
    return "\n".join(f"- {item}" for item in items)


def test_an_appendix_within_its_threshold_stays() -> None:
    text = f"{HEAD}\n## Appendix\n\n{appendix('alpha', 'alpha')}\n"
    assert consolidate_appendix(text, 2) == text
    assert consolidate_appendix(HEAD, 1) == HEAD


def test_of_near_duplicates_the_newest_stays() -> None:
    # `refunds go to desk one`: 22 signs and 23 with the s of `ones`; ratio 2·22/45 = 97.8 ≥ 90
    text = (
        f"{HEAD}\n## Appendix\n\n{appendix('refunds go to desk one', 'other', 'refunds go to desk ones')}\n"
    )
    assert appendix_items(consolidate_appendix(text, 2)) == ["other", "refunds go to desk ones"]


def test_then_the_oldest_go() -> None:
    text = f"{HEAD}\n## Appendix\n\n{appendix('first', 'other', 'a third', 'last')}\n"
    assert consolidate_appendix(text, 2) == f"{HEAD}\n## Appendix\n\n{appendix('a third', 'last')}\n"


def test_consolidation_changes_nothing_but_the_items() -> None:
    old, new = appendix("first", "other", "a third\n  goes on"), appendix("other", "a third\n  goes on")
    text = TEXT.replace("- rare: a gift card", f"Seldom seen.\n\n{old}")
    assert consolidate_appendix(text, 2) == text.replace(old, new)


# --- the edit budget ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("schedule", "budgets"),
    [
        # five steps from 12 to 4; shares 0, 1/4, 1/2, 3/4, 1 of the way
        ("linear", [12, 10, 8, 6, 4]),
        # (1 - cos(π·share)) / 2 = 0, .1464, .5, .8536, 1: 12, 10.83, 8, 5.17, 4
        ("cosine", [12, 11, 8, 5, 4]),
        ("constant", [12, 12, 12, 12, 12]),
    ],
)
def test_the_edit_budget_falls_by_its_schedule(schedule: str, budgets: list[int]) -> None:
    assert [edit_budget(step, 5, 12, 4, schedule) for step in range(5)] == budgets


def test_a_budget_is_rounded_half_up() -> None:
    # 4 → 3 over three steps: 4, 3.5, 3;  3 → 2: 3, 2.5, 2 (rounding half to even would give 2)
    assert [edit_budget(step, 3, 4, 3, "linear") for step in range(3)] == [4, 4, 3]
    assert [edit_budget(step, 3, 3, 2, "linear") for step in range(3)] == [3, 3, 2]


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
def test_a_run_of_one_step_has_the_first_budget(schedule: str) -> None:
    assert edit_budget(0, 1, 12, 4, schedule) == 12


def test_a_budget_may_also_rise() -> None:
    assert [edit_budget(step, 3, 2, 6, "linear") for step in range(3)] == [2, 4, 6]
