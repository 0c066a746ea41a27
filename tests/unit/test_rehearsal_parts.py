"""What gives each part of the training a chance in the known-truth world: rules of the system prompt, a
teacher with few ideas, a teacher that reads closely.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skillmake.artifacts import digest
from skillmake.llm.types import Message
from skillmake.packs import Case, Pack
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.world import SYSTEM, Unit, World
from skillmake.teachers.templates import Templates

# 20 units a type: 9 need nothing, 10 are in need (4 of a rule of the system prompt), 1 is beyond help
CONFIG = WorldConfig(
    types=2,
    units_per_type=20,
    rules_per_type=4,
    rules_per_unit_max=1,
    system_rules=2,
    system_share=0.4,
    useful_share=1,
    useless_share=0,
    harmful_share=0,
    attentive=True,
    churn=0,
    noise=0,
)
WORLD = World(CONFIG)
BY_SYSTEM = WORLD.owners[SYSTEM].sentences
EVOLVE = Templates(Path("prompts/evolve"))


def joined(sentences: Sequence[str]) -> str:
    return "\n".join(sentences)


def in_need(owner: str) -> list[Unit]:
    """Units of the first type in need of a rule of the owner."""
    units = [unit for unit in WORLD.units.values() if unit.task_type == WORLD.types[0].name]
    return [unit for unit in units if unit.needs and WORLD.sentences[min(unit.needs)][1] == owner]


OWN = WORLD.types[0].name
SKILLED, STEERED = in_need(OWN)[0], in_need(SYSTEM)[0]


@pytest.mark.parametrize(
    ("config", "known"),
    [
        (WorldConfig(types=2, units_per_type=20), "ad7accf358ef"),
        (WorldConfig(types=16, units_per_type=6, rules_per_type=12, seed=5), "8a4ca26d8ca1"),
    ],
)
def test_worlds_that_were_measured_stay_what_they_were(config: WorldConfig, known: str) -> None:
    world = World(config)
    rows = []
    for unit in world.units.values():
        needs = None if unit.needs is None else sorted(unit.needs)
        asked = [question["question"] for question in unit.questions]
        rows.append([unit.unit_id, unit.code, needs, unit.answer, asked])
    assert digest([*rows, sorted(world.sentences.items())]) == known


def test_some_units_need_the_system_prompt() -> None:
    assert (len(in_need(OWN)), len(in_need(SYSTEM))) == (6, 4)
    skills = {task_type.name: joined(task_type.sentences["useful"]) for task_type in WORLD.types}
    assert WORLD.true_accuracy({}).overall == 9 / 20
    assert WORLD.true_accuracy(skills).overall == 15 / 20
    assert WORLD.true_accuracy({}, system=joined(BY_SYSTEM["useful"])).overall == 13 / 20
    assert WORLD.true_accuracy(skills, system=joined(BY_SYSTEM["useful"])).overall == 19 / 20


def test_harm_in_the_system_prompt_reaches_every_type() -> None:
    harmed = WORLD.true_accuracy({}, system=joined(BY_SYSTEM["harmful"])).types
    assert all(accuracy < 2 / 20 for accuracy in harmed.values())


@pytest.mark.parametrize(
    ("unit", "text", "told"),
    [
        (SKILLED, "", ("defect", "skill")),
        (STEERED, "", ("defect", "system")),
        (STEERED, joined(BY_SYSTEM["useful"]), ("lapse", "skill")),
    ],
)
@pytest.mark.parametrize("errs", [False, True])
def test_the_judge_says_which_text_is_to_blame(
    unit: Unit, text: str, told: tuple[str, str], errs: bool
) -> None:
    world = World(CONFIG.model_copy(update={"judge_error": float(errs)}))
    names = {"verdict": ["defect", "lapse"], "blame": ["skill", "system", "tool"]}
    schema = {"properties": {name: {"enum": values} for name, values in names.items()}}
    asked = [{"role": "user", "content": f"{text}\n{unit.questions[0]['question']}"}]
    opposite = {"defect": "lapse", "lapse": "defect", "skill": "system", "system": "skill"}
    wanted = [opposite[part] for part in told] if errs else list(told)
    assert list(json.loads(world.judge(asked, schema)).values()) == wanted


def case(unit: Unit, right: bool = False, verdict: str | None = None) -> Case:
    question = unit.questions[0]
    asked = {key: question[key] for key in ("question_id", "unit_id", "question", "options", "answer")}
    return Case.model_validate({**asked, "prediction": None, "right": right, "verdict": verdict})


def request(*cases: Case, above: str = "") -> list[Message]:
    shown = EVOLVE.render("cases.md", pack=Pack(cases=cases))
    return [{"role": "user", "content": f"{above}\n# Cases\n{shown}"}]


def taught(world: World, messages: list[Message]) -> list[str]:
    return [edit["text"] for edit in json.loads(world.teach(messages))["edits"]]


def test_an_attentive_teacher_finds_the_rule_that_a_wrong_case_lacks() -> None:
    others = [case(unit, right=True) for unit in in_need(OWN)[1:]]
    first, *rest = taught(WORLD, request(case(SKILLED), *others))
    assert {first} == SKILLED.needs
    # What is proposed already is not found again, and what is right shows nothing
    assert all(WORLD.useless_count(text) for text in rest)


@pytest.mark.parametrize(
    "nothing", [case(SKILLED, right=True), case(SKILLED, verdict="lapse"), case(STEERED), None]
)
def test_an_attentive_teacher_finds_nothing_useful_elsewhere(nothing: Case | None) -> None:
    cases = [nothing] if nothing else []
    edits = taught(WORLD, request(*cases, above=f"Task type: {OWN}"))
    assert edits
    assert all(WORLD.useless_count(text) for text in edits)
    careless = World(CONFIG.model_copy(update={"attentive": False}))
    assert all(map(careless.useful_count, taught(careless, request(*cases, above=f"Task type: {OWN}"))))


def test_the_system_prompt_gets_as_many_new_lines_as_are_allowed() -> None:
    schema = {"properties": {"system": {"type": "string"}}}
    cases = Pack(cases=tuple(case(unit) for unit in in_need(SYSTEM)))
    seen = set()
    for note in range(12):
        texts = {"system": f"Be brief, {note}."}
        prompt = EVOLVE.render("system.md", name="system", texts=texts, pack=cases, budget=2)
        answer: dict[str, Any] = json.loads(WORLD.teach([{"role": "user", "content": prompt}], schema))
        old, *new = answer["system"].split("\n")
        assert old == texts["system"]
        assert WORLD.useful_count(new[0], SYSTEM) == 1
        seen.add(len(new))
    assert seen == {1, 2}  # of one to three ideas


def test_an_attentive_teacher_keeps_its_earlier_guidance() -> None:
    schema = {"properties": {"guidance": {"type": "string"}}}
    above = "# Your guidance of earlier epochs, which your answer replaces\nKeep calm.\n"
    value = json.loads(WORLD.teach(request(case(SKILLED), above=above), schema))
    assert value == {"guidance": f"Keep calm.\n{min(SKILLED.needs or ())}"}


def test_a_teacher_with_few_ideas_repeats_itself_unless_it_is_told() -> None:
    shares = {"useful_share": 0.0, "useless_share": 0.5, "harmful_share": 0.5}
    world = World(CONFIG.model_copy(update={"bad_ideas": 2, **shares}))
    own = world.types[0].sentences
    assert (len(own["useless"]), len(own["harmful"])) == (2, 2)
    bad = {*own["useless"], *own["harmful"]}
    proposed = {text for n in range(20) for text in taught(world, request(above=f"Task type: {OWN}\n\n{n}"))}
    assert proposed == bad
    told = joined(["Rejected:", *bad])
    assert taught(world, request(above=f"Task type: {OWN}\n{told}")) == []
