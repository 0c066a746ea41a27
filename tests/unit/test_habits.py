"""What the rehearsal teacher writes for an agent that looks things up."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from skillmake.edits import Edit
from skillmake.evolve import Assignment
from skillmake.gate import GateNumbers
from skillmake.packs import Case, Pack
from skillmake.prompt_evolution import SystemAnswer, ToolAnswer
from skillmake.rehearsal.habits import (
    AROUND,
    COUNT,
    DOUBT,
    KEEP_ALL,
    LEFT_OUT,
    NAME_MISSING,
    PLAIN,
    READ_MANY,
    READ_ON,
    SEARCH_OPTIONS,
    SKILL,
    SYSTEM,
    TOOL,
    WALK,
)
from skillmake.rehearsal.world import World, WorldConfig
from skillmake.state import RejectedEdit
from skillmake.teachers.templates import Templates
from tests.worlds import case

TEMPLATES = Templates(Path(__file__).parents[2] / "prompts" / "evolve")


def world(useful: float, harmful: float = 0.0) -> World:
    shares = {"useful_share": useful, "harmful_share": harmful, "useless_share": 1 - useful - harmful}
    return World(WorldConfig(types=1, units_per_type=12, **shares))


def edits(of: World, text: str) -> list[str]:
    messages = [{"role": "user", "content": text}]
    return [edit["text"] for edit in json.loads(of.teach(messages))["edits"]]


def test_one_to_three_sentences_that_the_skill_does_not_hold() -> None:
    counts = Counter()
    for number in range(40):
        found = edits(
            world(1.0), f"Task type: CW {number}\n\n# The skill now\n{SKILL['useful'][0]}\n\n# More\n"
        )
        assert set(found) <= set(SKILL["useful"][1:])
        assert len(set(found)) == len(found)
        counts[len(found)] += 1
    assert set(counts) == {1, 2, 3}
    assert edits(world(1.0), "Improve this.") == []


def test_what_was_rejected_in_company_may_be_proposed_again() -> None:
    text = "Task type: CW\n\n# The skill now\n- Look.\n\n# Edits that did not help\n" + "\n".join(
        SKILL["useful"]
    )
    assert edits(world(1.0), text)


def asked(number: int, *cases: Case, rejected: tuple[RejectedEdit, ...] = ()) -> str:
    """The request of a teacher."""
    assignment = Assignment(f"CW {number}", "- Look.\n", Pack(cases=cases), rejected, 3, ())
    return TEMPLATES.render("patch.md", assignment=assignment)


def test_of_the_useful_sentences_those_that_fit_a_failure() -> None:
    """A no that was taken for yes, with a window of the scope unread; a choice; a question of order."""
    twin = case("q1", False, "yes").model_copy(update={"answer": "no", "missed": ("0.1",)})
    choice = case("q2", False, "a").model_copy(update={"options": ("a", "b", "c"), "answer": "b"})
    order = choice.model_copy(update={"question": "What does he do after that?", "question_id": "q3"})
    fits = (
        (twin, {DOUBT, WALK, READ_MANY}),
        (choice, {SEARCH_OPTIONS, READ_MANY, COUNT}),
        (order, {SEARCH_OPTIONS, READ_MANY, COUNT, AROUND}),
    )
    for failed, fitting in fits:
        right = (twin if failed is order else order).model_copy(update={"right": True})
        found = {s for k in range(40) for s in edits(world(1.0), asked(k, failed, right))}
        # Where all that fit are taken, the rest of an answer is without effect
        assert found & set(SKILL["useful"]) == fitting
    # Supported by the failures that it fits
    answer = world(1.0).teach([{"role": "user", "content": asked(1, twin, choice)}])
    support = {edit["text"]: set(edit["support"]) for edit in json.loads(answer)["edits"]}
    by_hand = {DOUBT: {"q1"}, WALK: {"q1"}, READ_MANY: {"q1", "q2"}, SEARCH_OPTIONS: {"q2"}, COUNT: {"q2"}}
    assert support
    assert support == {text: by_hand[text] for text in support}


@pytest.mark.parametrize(
    ("wins", "together", "again"), [(0, False, set()), (1, False, {COUNT}), (0, True, {COUNT, READ_MANY})]
)
def test_what_put_nothing_right_alone_is_not_tried_again(wins: int, together: bool, again: set[str]) -> None:
    """In company another edit may be to blame."""
    failed = case("q2", False, "a").model_copy(update={"options": ("a", "b", "c"), "answer": "b"})
    count, many = (Edit(op="add", text=text) for text in (COUNT, READ_MANY))
    tried = [((count, many), 0)] if together else [((count,), wins), ((many,), 0)]
    rejected = tuple(
        RejectedEdit(edits=of, numbers=GateNumbers(wins=won, n=k + 7), step=k, why="futile")
        for k, (of, won) in enumerate(tried)
    )
    found = {s for k in range(40) for s in edits(world(1.0), asked(k, failed, rejected=rejected))}
    assert SEARCH_OPTIONS in found
    assert found & {COUNT, READ_MANY} == again


@pytest.mark.parametrize(("useful", "harmful"), [(0.5, 0.2), (0.2, 0.5)])
def test_kinds_come_in_the_shares_of_the_world(useful: float, harmful: float) -> None:
    drawn = [s for k in range(300) for s in edits(world(useful, harmful), f"Task type: CW {k}\n")]
    for kind, share in (("useful", useful), ("harmful", harmful)):
        assert sum(s in SKILL[kind] for s in drawn) / len(drawn) == pytest.approx(share, abs=0.07)


def tool(of: World, notes: tuple[str, ...] = (), **texts: str) -> dict[str, str]:
    pack = Pack(cases=(case("q1", False).model_copy(update={"notes": notes}),))
    now = {"extract": "Write it down.\nBriefly.", "verify": "Say whether it is enough.", **texts}
    prompt = TEMPLATES.render("tool.md", name="read_node", texts=now, pack=pack, budget=2)
    answer: Any = json.loads(of.teach([{"role": "user", "content": prompt}], ToolAnswer.model_json_schema()))
    return dict(answer)


def test_a_useful_sentence_goes_into_the_extract_prompt_and_then_into_the_other() -> None:
    first = tool(world(1.0))
    assert first == {
        "extract": f"Write it down.\nBriefly.\n{KEEP_ALL}",
        "verify": "Say whether it is enough.",
    }
    second = tool(world(1.0), **first)
    assert second == {**first, "verify": f"Say whether it is enough.\n{NAME_MISSING}"}
    assert tool(world(1.0), **second) == second


def test_the_system_prompt_gets_what_holds_for_every_question() -> None:
    def system(of: World, now: str) -> str:
        pack = Pack(cases=(case("q1", False),))
        prompt = TEMPLATES.render("system.md", texts={"system": now}, pack=pack, budget=2)
        answer = of.teach([{"role": "user", "content": prompt}], SystemAnswer.model_json_schema())
        return str(json.loads(answer)["system"])

    first = system(world(1.0), "Look it up.\nThen answer.")
    assert first == f"Look it up.\nThen answer.\n{READ_ON}"
    assert system(world(1.0), first).removeprefix(f"{first}\n") in PLAIN
    assert system(world(0.0, 1.0), "Look it up.").splitlines()[1] in SYSTEM["harmful"]


def test_it_goes_where_the_judges_blame() -> None:
    for number in range(8):
        changed = tool(world(0.0, 1.0), notes=(f"The extract prompt of read_node {LEFT_OUT} {number}",))
        assert changed["verify"] == "Say whether it is enough."
        assert changed["extract"].splitlines()[-1] in TOOL["extract"]["harmful"]
    parts = [tool(world(0.0), notes=(str(number),)) for number in range(20)]
    assert {text["extract"].splitlines()[-1] in PLAIN for text in parts} == {True, False}
