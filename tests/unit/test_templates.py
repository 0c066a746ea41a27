"""Prompt templates: the bundled ones can be rendered, and a mistake in one is named (SPEC §5)."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillmake.edits import Edit
from skillmake.errors import DataError
from skillmake.evolve import Assignment
from skillmake.gate import GateNumbers
from skillmake.momentum import Comparison, Sample
from skillmake.packs import Case, Confusion, Pack
from skillmake.state import RejectedEdit
from skillmake.teachers.templates import Templates

EVOLVE = Path(__file__).parents[2] / "prompts" / "evolve"
SLOW = EVOLVE.parent / "slow"
SKILL = "---\nname: alpha\ndescription: Sorts.\n---\n\n## Rules\n\n- Read {{ this }} & <that>.\n"
NUMBERS = GateNumbers(wins=5, losses=6, n=20, e=0.4, delta=-0.05)


def case(question_id: str, right: bool, prediction: str | None, options: tuple[str, ...] | None) -> Case:
    return Case(
        question_id=question_id,
        unit_id=question_id,
        question=f"Is {question_id} so?",
        options=options,
        answer="yes",
        prediction=prediction,
        right=right,
    )


FULL = Assignment(
    task_type="alpha",
    skill=SKILL,
    pack=Pack(
        cases=(
            case("q1", False, "no", ("yes", "no")),
            case("q2", False, None, None),
            case("q3", True, "yes", ("yes", "no")),
        ),
        confusions=(Confusion(answer="yes", prediction="no", count=7),),
    ),
    rejected=(
        RejectedEdit(
            edits=(Edit(op="add", text="- Say no."), Edit(op="delete", anchor="Read")),
            numbers=NUMBERS,
            step=3,
            why="exhausted",
        ),
    ),
    budget=4,
    seed=(),
)
BARE = Assignment(task_type="alpha", skill=SKILL, pack=Pack(), rejected=(), budget=1, seed=())


@pytest.mark.parametrize("name", ["patch.md", "rewrite.md"])
def test_a_prompt_shows_the_type_the_skill_and_every_case(name: str) -> None:
    text = Templates(EVOLVE).render(name, assignment=FULL)
    assert "Task type: alpha\n" in text
    assert SKILL in text  # as it is: nothing in it is escaped or taken for a template
    assert "- id q1 (WRONG)\n  Question: Is q1 so?\n  Options: yes; no\n  Expected: yes. Given: no.\n" in text
    assert "- id q2 (WRONG)\n  Question: Is q2 so?\n  Expected: yes. Given: nothing usable.\n" in text
    assert "- id q3 (right)\n" in text
    assert "wins 5, losses 6 of 20 units" in text
    assert "exhausted" in text


@pytest.mark.parametrize("name", ["patch.md", "rewrite.md"])
def test_a_prompt_shows_what_the_judges_found(name: str) -> None:
    missed = {"verdict": "defect", "blame": "skill", "notes": ("missed evidence: the stamp",)}
    strayed = {"verdict": "lapse", "blame": "tool lens"}
    cases = [
        case("q1", False, "no", None).model_copy(update=missed),
        case("q2", False, "no", None).model_copy(update=strayed),
    ]
    text = Templates(EVOLVE).render(name, assignment=replace(BARE, pack=Pack(cases=tuple(cases))))
    assert (
        "  Judged: DEFECT of the skill: the text led the agent wrong or leaves a hole here.\n"
        "  - missed evidence: the stamp\n- id q2"
    ) in text
    assert "  Judged: LAPSE: the tool lens is good here, the agent did not follow it. Make no edit" in text


def test_the_rewrite_prompt_shows_what_was_tried_with_its_evidence() -> None:
    text = Templates(EVOLVE).render("rewrite.md", assignment=FULL)
    assert "- step 3: wins 5, losses 6 of 20 units, evidence 0.4 (exhausted)\n  add: - Say no.\n" in text


def test_the_patch_prompt_shows_budget_confusions_and_what_failed() -> None:
    text = Templates(EVOLVE).render("patch.md", assignment=FULL)
    assert "At most 4 edits" in text
    assert "- yes was taken for no 7 times\n" in text
    assert "- add: - Say no. (wins" in text
    assert "- delete: Read (wins" in text


@pytest.mark.parametrize("name", ["patch.md", "rewrite.md"])
def test_a_prompt_leaves_out_the_parts_it_has_nothing_for(name: str) -> None:
    text = Templates(EVOLVE).render(name, assignment=BARE)
    assert "confusions" not in text
    assert "tried" not in text
    assert "{%" not in text
    assert "JSON" in text


def test_the_repair_prompt_names_the_problem() -> None:
    assert "there is no JSON object" in Templates(EVOLVE).render(
        "repair.md", problem="there is no JSON object"
    )


def test_the_momentum_prompt_shows_both_answers_and_the_guidance_it_replaces() -> None:
    sample = Sample(
        question_id="q1",
        unit_id="q1",
        question="Is q1 so?",
        options=("yes", "no"),
        answer="yes",
        before="no",
        after=None,
        change="persistent_fail",
    )
    value = Comparison(
        path="alpha/SKILL.md",
        task_types=("alpha", "beta"),
        skill=SKILL,
        guidance="Say so.",
        samples=(sample,),
    )
    text = Templates(SLOW).render("momentum.md", comparison=value)
    assert "Task type: alpha, beta\n" in text
    assert SKILL in text
    assert "which your answer replaces\nSay so.\n" in text
    shown = "  Options: yes; no\n  Expected: yes. Before: no. Now: nothing usable.\n"
    assert f"- persistent fail: Is q1 so?\n{shown}" in text
    without = value.model_copy(update={"guidance": ""})
    assert "earlier epochs, which" not in Templates(SLOW).render("momentum.md", comparison=without)
    assert "no JSON" in Templates(SLOW).render("repair.md", problem="no JSON")


def test_every_bundled_template_of_the_teacher_is_tested_here() -> None:
    assert sorted(path.name for path in EVOLVE.iterdir()) == [
        "cases.md",
        "patch.md",
        "rank.md",
        "repair.md",
        "rewrite.md",
        "system.md",
        "tool.md",
    ]
    assert sorted(path.name for path in SLOW.iterdir()) == ["momentum.md", "repair.md"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\n{{ assignmnt.skill }}\n", "'assignmnt' is undefined"),
        ("a\n{{ assignment.skil }}\n", "has no attribute 'skil'"),
        ("{% if nothing %}x{% endif %}", "'nothing' is undefined"),
    ],
)
def test_an_unknown_name_is_an_error_that_names_the_file(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "own.md"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        Templates(tmp_path).render("own.md", assignment=FULL)
    assert caught.value.message.startswith(path.as_posix())
    assert says in caught.value.message


def test_a_template_that_cannot_be_parsed_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.md"
    path.write_text("fine\n\n{% for x in %}\n")
    with pytest.raises(DataError) as caught:
        Templates(tmp_path).render("own.md")
    assert caught.value.message.startswith(f"{path.as_posix()}:3: ")


def test_an_unknown_name_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.md"
    path.write_text("fine\n\n{{ nowhere }}\n")
    with pytest.raises(DataError) as caught:
        Templates(tmp_path).render("own.md")
    assert caught.value.message.startswith(f"{path.as_posix()}:3: ")


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"patch\.md: no such prompt template") as caught:
        Templates(tmp_path).render("patch.md")
    assert caught.value.message.startswith((tmp_path / "patch.md").as_posix())


def test_a_template_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"own\.md: not UTF-8"):
        Templates(tmp_path).render("own.md")


def test_an_included_template_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("{% include 'part.md' %}")
    with pytest.raises(DataError, match=r"part\.md: no such prompt template"):
        Templates(tmp_path).render("own.md")
