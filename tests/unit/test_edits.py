"""Bounded edits: what each op does, how an anchor is found, what is out of reach (SPEC §5)."""

from collections.abc import Callable

import pytest

from skillmake.edits import ApplyResult, Edit, apply_edits
from skillmake.skilltext import MOMENTUM_BEGIN, MOMENTUM_END, Example, examples

HEAD = "---\nname: billing\ndescription: Sorts bills.\n---\n"
TEXT = f"""{HEAD}
# Billing

## Rules

- Read the amount before the date.
- A refund is never a charge.

## Examples

> Q: Two charges?
> A: double

> Q: No bill came?
> A: missing

## Appendix

- rare: a gift card

{MOMENTUM_BEGIN}
Keep to the rules.
{MOMENTUM_END}
"""


def clean(_: Edit) -> str | None:
    return None


def apply(
    *edits: Edit,
    text: str = TEXT,
    budget: int = 9,
    cap: int = 4000,
    threshold: float = 88.0,
    leaks: Callable[[Edit], str | None] = clean,
) -> ApplyResult:
    return apply_edits(text, edits, budget=budget, fuzzy_threshold=threshold, token_cap=cap, leaks=leaks)


def statuses(result: ApplyResult) -> list[str]:
    return [report.status for report in result.reports]


def changed(edit: Edit, old: str, new: str, status: str = "applied") -> None:
    """The edit does nothing but put `new` where `old` was."""
    assert TEXT.count(old) == 1
    result = apply(edit)
    assert statuses(result) == [status]
    assert result.text == TEXT.replace(old, new)


def refused(edit: Edit, status: str, text: str = TEXT) -> str:
    """The edit changes nothing; returns the detail of its report."""
    result = apply(edit, text=text)
    assert statuses(result) == [status]
    assert result.text == text
    return result.reports[0].detail


# --- ops ------------------------------------------------------------------------
def test_add_puts_a_line_behind_the_line_of_its_anchor() -> None:
    changed(
        Edit(op="add", anchor="Read the amount", text="- Then the payee.\n"),
        "before the date.\n",
        "before the date.\n- Then the payee.\n",
    )


def test_add_behind_a_last_line_without_a_line_end() -> None:
    result = apply(Edit(op="add", anchor="Last.", text="New."), text=HEAD + "Last.")
    assert result.text == HEAD + "Last.\nNew."


def test_add_without_an_anchor_joins_the_list_at_the_end_of_its_section() -> None:
    changed(
        Edit(op="add", section="Rules", text="- Then the payee."),
        "never a charge.\n",
        "never a charge.\n- Then the payee.\n",
    )


def test_add_goes_to_the_rules_when_it_names_no_section() -> None:
    assert (
        apply(Edit(op="add", text="- x")).text == apply(Edit(op="add", section="## Rules", text="- x")).text
    )


def test_add_behind_prose_starts_a_paragraph() -> None:
    text = HEAD + "\n## Rules\n\nRead.\n\n## More\n\nEnd.\n"
    result = apply(Edit(op="add", section="Rules", text="Think."), text=text)
    assert result.text == text.replace("Read.\n", "Read.\n\nThink.\n")


def test_a_section_that_is_missing_is_made_before_the_momentum_block() -> None:
    changed(
        Edit(op="add", section="Hints", text="- Look twice."),
        "a gift card\n\n",
        "a gift card\n\n## Hints\n\n- Look twice.\n\n",
    )


@pytest.mark.parametrize("body", ["", "\n", "\n\n\n"])
def test_a_section_can_be_added_to_an_empty_body(body: str) -> None:
    assert apply(Edit(op="add", text="- x"), text=HEAD + body).text == HEAD + "\n## Rules\n\n- x\n"


def test_replace_exchanges_just_the_anchored_words() -> None:
    changed(Edit(op="replace", anchor="the amount", text="the sum"), "the amount", "the sum")


def test_delete_takes_words_out_of_a_line() -> None:
    changed(Edit(op="delete", anchor=" before the date"), "before the date", "")


def test_delete_of_all_of_a_line_takes_the_line_with_its_bullet() -> None:
    changed(Edit(op="delete", anchor="A refund is never a charge."), "- A refund is never a charge.\n", "")


def test_delete_of_a_last_line_without_a_line_end() -> None:
    assert apply(Edit(op="delete", anchor="Last."), text=HEAD + "First.\n- Last.").text == HEAD + "First.\n"


def test_example_is_put_behind_the_other_examples() -> None:
    changed(
        Edit(op="example", text="Charged\ntwice?", answer="double"),
        "> A: missing\n",
        "> A: missing\n\n> Q: Charged\n> twice?\n> A: double\n",
    )


def test_delete_with_the_question_of_an_example_takes_the_whole_example() -> None:
    result = apply(Edit(op="delete", anchor="two  CHARGES?"))
    assert statuses(result) == ["applied"]
    assert examples(result.text) == [Example("No bill came?", "missing")]


def test_replace_with_an_answer_exchanges_an_example_in_its_place() -> None:
    result = apply(Edit(op="replace", anchor="Two charges?", text="Paid twice?", answer="double"))
    assert statuses(result) == ["applied"]
    assert examples(result.text) == [Example("Paid twice?", "double"), Example("No bill came?", "missing")]


def test_replace_can_correct_the_answer_of_an_example() -> None:
    result = apply(Edit(op="replace", anchor="Two charges?", text="Two charges?", answer="twice"))
    assert examples(result.text)[0] == Example("Two charges?", "twice")


# --- anchors ----------------------------------------------------------------------
def test_an_anchor_that_is_not_exact_finds_the_line_most_like_it() -> None:
    # 28 of the line's 29 signs and one wrong one: ratio 2·28/58 = 96.6
    changed(
        Edit(op="replace", anchor="- A refund is never a charge!", text="- A refund is no charge."),
        "- A refund is never a charge.",
        "- A refund is no charge.",
        "applied_fuzzy",
    )


def test_the_threshold_counts_as_near_enough() -> None:
    text = HEAD + "abcdefghij\n"
    edit = Edit(op="replace", anchor="abcdefghiX", text="new")  # 9 of 10 in both: ratio 2·9/20 = 90
    assert statuses(apply(edit, text=text, threshold=90.0)) == ["applied_fuzzy"]
    assert statuses(apply(edit, text=text, threshold=90.1)) == ["target_not_found"]


def test_a_fuzzy_delete_takes_the_whole_line() -> None:
    changed(
        Edit(op="delete", anchor="- A refund is never a charge!"),
        "- A refund is never a charge.\n",
        "",
        "applied_fuzzy",
    )


@pytest.mark.parametrize("anchor", ["", "  ", "nothing like any line of it"])
def test_an_anchor_that_no_line_is_like_is_not_found(anchor: str) -> None:
    refused(Edit(op="delete", anchor=anchor), "target_not_found")


def test_an_example_to_replace_must_be_there() -> None:
    detail = refused(Edit(op="replace", anchor="A third?", text="x", answer="y"), "target_not_found")
    assert detail == "no worked example has this question"


def test_an_anchor_in_two_places_is_ambiguous() -> None:
    assert refused(Edit(op="replace", anchor="charge", text="x"), "ambiguous") == "2 places hold the anchor"


def test_two_lines_equally_like_the_anchor_are_ambiguous() -> None:
    text = HEAD + "abcdefghij1\nabcdefghij2\n"
    assert refused(Edit(op="delete", anchor="abcdefghij3"), "ambiguous", text).startswith("two lines")


# --- what is out of reach -----------------------------------------------------------
@pytest.mark.parametrize(
    "edit",
    [
        Edit(op="replace", anchor="Keep to the rules.", text="x"),
        Edit(op="delete", anchor="Keep to the rules!"),  # fuzzy
        Edit(op="add", anchor="Keep to", text="x"),
        Edit(op="delete", anchor=MOMENTUM_END),
        Edit(op="replace", anchor=f"a gift card\n\n{MOMENTUM_BEGIN}", text="x"),
        Edit(op="add", text=f"x {MOMENTUM_BEGIN}"),
        Edit(op="example", text="x", answer=MOMENTUM_END),
        Edit(op="add", text="<!-- momentum:other -->"),
        Edit(op="replace", anchor="description: Sorts bills.", text="description: x"),
        Edit(op="add", anchor="name: billing", text="license: x"),
    ],
)
def test_momentum_block_and_front_matter_are_protected(edit: Edit) -> None:
    refused(edit, "protected")


def test_the_line_before_the_momentum_block_can_be_edited() -> None:
    text = f"{HEAD}Last.\n{MOMENTUM_BEGIN}\nKeep.\n{MOMENTUM_END}\n"
    assert apply(Edit(op="add", anchor="Last.", text="New."), text=text).text == text.replace(
        "Last.\n", "Last.\nNew.\n"
    )
    assert apply(Edit(op="delete", anchor="Last."), text=text).text == text.replace("Last.\n", "")
