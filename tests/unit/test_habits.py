"""What the rehearsal teacher writes for an agent that looks things up."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from skillmake.packs import Pack
from skillmake.prompt_evolution import ToolAnswer
from skillmake.rehearsal.habits import KEEP_ALL, LEFT_OUT, NAME_MISSING, PLAIN, SKILL, TOOL
from skillmake.rehearsal.world import World, WorldConfig
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


def test_it_goes_where_the_judges_blame() -> None:
    for number in range(8):
        changed = tool(world(0.0, 1.0), notes=(f"The extract prompt of read_node {LEFT_OUT} {number}",))
        assert changed["verify"] == "Say whether it is enough."
        assert changed["extract"].splitlines()[-1] in TOOL["extract"]["harmful"]
    parts = [tool(world(0.0), notes=(str(number),)) for number in range(20)]
    assert {text["extract"].splitlines()[-1] in PLAIN for text in parts} == {True, False}
