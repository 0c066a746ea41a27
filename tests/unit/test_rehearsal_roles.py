"""Teacher and judge of the known-truth world."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from skillmake.llm.types import ChatRequest
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.world import Unit, World
from tests.rehearsing import QUIET, needy, pack


@pytest.fixture(scope="module")
def world() -> World:
    return World(QUIET)


def test_the_teacher_keeps_its_shares() -> None:
    world = World(WorldConfig(types=1, rules_per_type=30))
    kinds: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    for number in range(400):
        edits = json.loads(world.teach(pack(world, note=f"try {number}")))["edits"]
        sizes[len(edits)] += 1
        kinds.update(world.sentences[edit["text"]][0] for edit in edits)
    assert sorted(sizes) == [1, 2, 3]
    assert min(sizes.values()) > 90  # 133 expected
    shares = {kind: count / kinds.total() for kind, count in kinds.items()}
    # About 800 edits: four standard errors are at most .07
    assert shares == pytest.approx({"useful": 0.15, "harmful": 0.2, "useless": 0.65}, abs=0.07)


def only_useful(**changes: Any) -> World:
    shares = {"useful_share": 1, "useless_share": 0, "harmful_share": 0}
    return World(QUIET.model_copy(update={**shares, **changes}))


def test_an_edit_has_every_key_and_names_its_support() -> None:
    world = only_useful()
    edits = json.loads(world.teach(pack(world)))["edits"]
    ids = {question["question_id"]: unit for unit in world.units.values() for question in unit.questions}
    for edit in edits:
        assert set(edit) == {"op", "anchor", "section", "text", "answer", "reason", "support"}
        assert (edit["op"], edit["section"], edit["anchor"]) == ("add", "Rules", "")
        assert edit["support"]
        assert all(edit["text"] in (ids[qid].needs or ()) for qid in edit["support"])


def test_the_teacher_prefers_what_the_cases_of_the_pack_need() -> None:
    world = only_useful()
    unit = needy(world, 1)
    for number in range(10):
        messages = [{"role": "user", "content": f"{number} {unit.questions[0]['question']}"}]
        assert json.loads(world.teach(messages))["edits"][0]["text"] in (unit.needs or ())


def test_the_teacher_repeats_neither_skill_nor_rejected_edits() -> None:
    world = only_useful()
    own = world.types[0].sentences["useful"]
    for number in range(20):
        messages = pack(world, own[0], f"Rejected edits: {own[1]}\n{number}")
        texts = [edit["text"] for edit in json.loads(world.teach(messages))["edits"]]
        assert len(set(texts)) == len(texts)
        assert not {own[0], own[1]} & set(texts)
    everything = pack(world, " ".join(own))
    assert all(world.useless_count(edit["text"]) for edit in json.loads(world.teach(everything))["edits"])


def test_the_teacher_finds_the_type_by_its_line() -> None:
    world = only_useful()
    messages = [{"role": "user", "content": f"Task type: {world.types[1].name}\nNo cases."}]
    edits = json.loads(world.teach(messages))["edits"]
    assert edits
    assert all(edit["text"] in world.types[1].sentences["useful"] for edit in edits)
    assert json.loads(world.teach([{"role": "user", "content": "Improve this."}])) == {"edits": []}


def test_a_rewrite_keeps_the_skill_and_leaves_out_what_was_rejected() -> None:
    world = only_useful()
    kept, rejected = world.types[0].sentences["useless"][:2]
    schema = {"type": "object", "properties": {"skill": {"type": "string"}}}
    text = json.loads(world.teach(pack(world, kept, f"Rejected: {rejected}"), schema))["skill"]
    assert kept in text
    assert rejected not in text
    assert world.useful_count(text) >= 1


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_teacher_defects_come_in_their_share(share: float) -> None:
    world = only_useful(teacher_defect=share)
    broken = Counter[str]()
    provider = RehearsalProvider(world, "teacher")
    for number in range(200):
        request = ChatRequest(messages=tuple(pack(world, note=str(number))), max_tokens=4000)
        response = asyncio.run(provider.complete(request)) if number < 3 else provider.reply(request)
        try:
            json.loads(response.text)
        except json.JSONDecodeError:
            broken[response.finish] += 1
        else:
            assert response.finish == "stop"
    assert broken.total() / 200 == pytest.approx(share, abs=0.14)
    assert share == 0 or min(broken["length"], broken["stop"]) > 15


VERDICT = {
    "type": "object",
    "properties": {
        "defect": {"type": "boolean"},
        "cause": {"enum": ["lapse", "defect"]},
        "blame": {"type": "string", "enum": ["skill", "system"]},
        "why": {"type": "string"},
        "score": {"type": "number"},
        "spans": {"type": "array", "items": {"$ref": "#/$defs/span"}},
    },
    "$defs": {
        "span": {"type": "object", "properties": {"sound": {"type": "boolean"}, "step": {"type": "integer"}}}
    },
}


def judged(world: World, unit: Unit, text: str) -> dict[str, Any]:
    value = json.loads(
        world.judge([{"role": "user", "content": f"{text}\n{unit.questions[0]['question']}"}], VERDICT)
    )
    assert isinstance(value, dict)
    return value


def test_the_judge_tells_defect_from_lapse(world: World) -> None:
    unit = needy(world, 1)
    (rule,) = unit.needs or [""]
    assert judged(world, unit, "") == {
        "defect": True,
        "cause": "defect",
        "blame": "skill",
        "why": "",
        "score": 0.5,
        "spans": [{"sound": False, "step": 1}],
    }
    good = judged(world, unit, rule)
    assert (good["defect"], good["cause"], good["spans"][0]["sound"]) == (False, "lapse", True)
    harm = next(s for s in world.types[0].sentences["harmful"] if world.harms(s, unit))
    assert judged(world, unit, rule + harm)["defect"] is True


OUTCOME = {
    "properties": {
        "verdict": {"enum": ["defect", "lapse"]},
        "subtype": {"enum": ["slip", "none", "misread"]},
        **{name: {"type": "boolean"} for name in ("followed", "biased", "enough", "sound")},
    }
}


@pytest.mark.parametrize(
    ("knows_rule", "given_right", "truth"),
    [
        (False, False, ["defect", "slip", True, True, False, False]),
        (True, False, ["lapse", "slip", False, True, False, False]),
        (True, True, ["lapse", "none", True, False, True, True]),
        (False, True, ["defect", "none", True, False, True, True]),
    ],
)
@pytest.mark.parametrize("errs", [False, True])
def test_the_judge_knows_the_outcome_it_is_shown(
    world: World, knows_rule: bool, given_right: bool, truth: list[Any], errs: bool
) -> None:
    world = World(QUIET.model_copy(update={"judge_error": float(errs)}))
    unit = needy(world, 1)
    given = unit.answer if given_right else next(o for o in unit.options if o != unit.answer)
    skill = "".join(unit.needs or ()) if knows_rule else ""
    text = f"{skill}\n{unit.questions[0]['question']}\nGiven answer: {given}\n"
    value = json.loads(world.judge([{"role": "user", "content": text}], OUTCOME))
    opposite = {"defect": "lapse", "lapse": "defect", "none": "slip", "slip": "none"}
    wanted = [opposite[v] if isinstance(v, str) else not v for v in truth] if errs else truth
    assert list(value.values()) == wanted


def test_the_judge_errs_in_its_share() -> None:
    world = World(QUIET.model_copy(update={"judge_error": 0.3}))
    unit = needy(world, 1)
    wrong = sum(not judged(world, unit, f"draw {number}")["defect"] for number in range(300)) / 300
    assert wrong == pytest.approx(0.3, abs=0.11)
