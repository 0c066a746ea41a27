"""The exemplar teacher: each move, on cases small enough to see what must come out."""

import pytest

from skillmake.edits import Edit
from skillmake.evolve import Assignment
from skillmake.gate import GateNumbers
from skillmake.packs import Case, Pack
from skillmake.similarity import cosine, tfidf, typicality
from skillmake.skilltext import Example, with_examples
from skillmake.state import RejectedEdit
from skillmake.teachers.exemplar import (
    ExemplarTeacher,
    add_missed,
    by_typicality,
    cold_set,
    distinct_cases,
    hint,
    redraw,
    swap_misleading,
)

SKILL = "---\nname: a\ndescription: d\n---\n\n## Rules\n\n- one\n"
TEXTS = {
    "refund": ["money back please", "give the money back", "a strange wish"],
    "invoice": ["send the invoice", "invoice with tax please", "paper for the office"],
}


def case(name: str, answer: str, text: str, prediction: str | None = None, near: str = "") -> Case:
    return Case(
        question_id=name,
        unit_id=name,
        question=text,
        options=("invoice", "refund"),
        answer=answer,
        prediction=prediction or answer,
        right=prediction in (None, answer),
        near=(near,) if near else (),
    )


CASES = [case(f"{label[0]}{k}", label, text) for label in TEXTS for k, text in enumerate(TEXTS[label])]


def assignment(
    skill: str = SKILL, cases: list[Case] | None = None, budget: int = 4, **more: object
) -> Assignment:
    pack = Pack(cases=tuple(CASES if cases is None else cases))
    fields = {"task_type": "billing", "skill": skill, "pack": pack, "budget": budget, "seed": (1,)}
    return Assignment(**{**fields, "rejected": (), **more})  # type: ignore[arg-type]


def test_a_lapse_is_no_example() -> None:
    lapse = case("r9", "refund", "the only refund", "invoice").model_copy(update={"verdict": "lapse"})
    edits = ExemplarTeacher().propose(assignment(cases=[*CASES, lapse], budget=20)).edits
    assert sorted(edit.text for edit in edits) == sorted(text for texts in TEXTS.values() for text in texts)


def test_tfidf_and_cosine_by_hand() -> None:
    one, two, three = tfidf(["a b", "a b", "c"])
    assert cosine(one, two) == pytest.approx(1)
    assert cosine(one, three) == 0
    assert typicality([one, two, three], ["x", "x", "y"]) == [1.0, 1.0, 0.0]


def test_the_most_typical_cases_come_first() -> None:
    ranked = by_typicality(CASES)
    assert ranked["refund"][-1].question == "a strange wish"
    assert ranked["invoice"][-1].question == "paper for the office"


def test_a_cold_set_is_balanced_and_ends_with_the_most_typical_of_each_answer() -> None:
    edits = cold_set(CASES, 4, (1,))
    assert all(edit.op == "example" for edit in edits)
    assert sorted(edit.answer for edit in edits[:2]) == sorted(edit.answer for edit in edits[2:])
    best = {cases[0].question for cases in by_typicality(CASES).values()}
    assert {edit.text for edit in edits[2:]} == best
    assert edits == cold_set(CASES[::-1], 4, (1,))


def test_a_twin_pair_shows_its_message_once() -> None:
    twins = [case("t-a", "refund", "same"), case("t-b", "refund", "same")]
    assert [c.question_id for c in distinct_cases(twins)] == ["t-a"]


def test_answers_missed_more_than_over_used_get_examples() -> None:
    wrong = [case(f"w{k}", "invoice", f"unclear {k}", "refund") for k in range(3)]
    edits = add_missed([], [*CASES, *wrong], 4, (1,))
    assert [edit.answer for edit in edits] == ["invoice", "invoice"]


def test_redraw_exchanges_one_for_one() -> None:
    shown = [Example("a strange wish", "refund")]
    (edit,) = redraw(shown, CASES, 4, (1,))
    assert (edit.op, edit.anchor, edit.answer) == ("replace", "a strange wish", "refund")
    assert edit.text != "a strange wish"


def test_an_example_beside_failures_with_its_answer_is_swapped() -> None:
    shown = [Example("close", "refund"), Example("far", "invoice")]
    failures = [case("w1", "invoice", "quite close", "refund", near="close")]
    (edit,) = swap_misleading(shown, [*failures, case("r1", "invoice", "x", near="far")], 4)
    assert (edit.anchor, edit.text, edit.answer) == ("close", "quite close", "invoice")


def test_a_hint_names_the_words_of_the_answer_missed_most() -> None:
    wrong = case("w", "invoice", "invoice lost", "refund")
    (edit,) = hint([*CASES, wrong])
    assert edit.section == "Rules"
    assert "invoice" in edit.text.split("like ")[1]
    assert edit.text.endswith("usually invoice.")
    assert hint(CASES) == []


def test_moves_take_turns_and_never_repeat_what_was_rejected() -> None:
    warm = with_examples(SKILL, [Example("a strange wish", "refund")])
    wrong = [case(f"w{k}", "invoice", f"unclear {k}", "refund") for k in range(3)]
    first = ExemplarTeacher().propose(assignment(warm, [*CASES, *wrong])).edits
    rejected = RejectedEdit(edits=first, numbers=GateNumbers(), step=1, why="futile")
    second = ExemplarTeacher().propose(assignment(warm, [*CASES, *wrong], rejected=(rejected,))).edits
    assert first
    assert second
    assert first != second
    assert [edit.op for edit in second] == ["replace"]


def test_nothing_to_draw_on_is_said() -> None:
    warm = with_examples(SKILL, [Example("only", "refund")])
    proposal = ExemplarTeacher().propose(assignment(warm, [case("c", "refund", "only")]))
    assert proposal.edits == ()
    assert "no case" in proposal.nothing


def test_edits_of_a_proposal_fit_the_budget() -> None:
    edits: tuple[Edit, ...] = ExemplarTeacher().propose(assignment(budget=2)).edits
    assert len(edits) == 2
