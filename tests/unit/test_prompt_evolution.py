"""Evolution of system and tool prompts, and the teacher's ranking of its edits (SPEC §5, §7)."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Evolve
from skillmake.edits import Edit
from skillmake.evolve import Assignment, make_candidate
from skillmake.guards import LeakGuard
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import ChatRequest, ChatResponse, Provider
from skillmake.packs import Case, Pack
from skillmake.prompt_evolution import PromptCandidate, Record, changed_lines, evolve_records
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.habits import KEEP_ALL
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.world import World
from skillmake.structured import Asker
from skillmake.teachers.exemplar import ExemplarTeacher
from skillmake.teachers.llm import LlmTeacher
from skillmake.teachers.ranking import rank_edits
from skillmake.teachers.templates import Templates
from tests.worlds import question

TEMPLATES = Templates(Path(__file__).parents[2] / "prompts" / "evolve")
MODEL = ModelConfig(provider="rehearsal", model="teacher", max_tokens=2000)
WORLD = World(WorldConfig(types=1, units_per_type=12, pair_share=0.0))
SYSTEM = {"system.md": "You answer.\nBe brief.\nBe kind.\n"}
TOOL = {"extract": "Note what you see.\n", "verify": "Look again.\n"}
SKILL = "---\nname: alpha\ndescription: Sorts.\n---\n\n## Rules\n\n- Be kind.\n"


def case(name: str, text: str = "Where to?", **more: Any) -> Case:
    value = {"question": text, "options": None, "answer": "here", "prediction": "there", "right": False}
    return Case.model_validate({"question_id": name, "unit_id": name, **value, **more})


DEFECT = case("q1", verdict="defect", blame="system", notes=("step 1 is flawed: too hasty",))
LAPSE = case("q2", verdict="lapse", blame="system")
PACK = Pack(cases=(DEFECT, LAPSE, case("q3", prediction="here", right=True)))


class Scripted(Provider):
    """A teacher with a list of answers; a dict is sent as JSON, `cut` is cut off."""

    identity: dict[str, Any] = {"provider": "scripted"}  # noqa: RUF012 - a constant

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), list[ChatRequest]()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.asked.append(request)
        answer = self.answers.pop(0)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        finish = "length" if answer == "cut" else "stop"
        return ChatResponse(text, finish=finish, prompt_tokens=10, completion_tokens=2)

    async def close(self) -> None:
        return None


class Tools(NamedTuple):
    client: Callable[[Provider], Client]
    evolve: Callable[..., PromptCandidate]


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    clients = []

    def client(provider: Provider) -> Client:
        clients.append(Client(provider, "teacher", CallCache(tmp_path), Meter(tmp_path, Caps(), "t")))
        return clients[-1]

    def evolve(provider: Provider, texts: dict[str, str] = SYSTEM, **more: Any) -> PromptCandidate:
        values = {"pack": PACK, "budget": 2, "guard": LeakGuard([]), "config": Evolve(), **more}
        kind = "system" if len(texts) == 1 else "tool"
        teacher = Asker(client(provider), MODEL, TEMPLATES)
        record = Record(kind, "lens", texts, values.pop("pack"))
        return evolve_records([record], teacher=teacher, **values)[0]

    yield Tools(client, evolve)
    for made in clients:
        made.close()


def refused(candidate: PromptCandidate) -> str:
    assert candidate.status == "skipped"
    assert candidate.after == candidate.before
    return candidate.reason


# --- prompts --------------------------------------------------------------------------
def test_the_system_prompt_is_written_anew_under_its_own_key(tools: Tools) -> None:
    found = tools.evolve(Scripted({"system": "You answer.\nBe exact.\nBe kind."}))
    assert found == PromptCandidate(
        kind="system",
        name="lens",
        status="proposed",
        before=SYSTEM,
        after={"system.md": "You answer.\nBe exact.\nBe kind.\n"},
        calls=found.calls,
        prompt_tokens=10,
        completion_tokens=2,
    )
    assert len(found.calls) == 1


def test_a_tool_is_one_record_of_two_texts(tools: Tools) -> None:
    """One of the two may stay as it is."""
    provider = Scripted({"extract": "Note what you see.", "verify": "Look twice."})
    found = tools.evolve(provider, TOOL)
    assert (found.status, found.kind) == ("proposed", "tool")
    assert found.after == {"extract": "Note what you see.\n", "verify": "Look twice.\n"}
    prompt = str(provider.asked[0].messages[0]["content"])
    for part in ("the tool lens", "# extract now\nNote what you see.\n", "# verify now\nLook again.\n"):
        assert part in prompt


def test_the_prompt_shows_budget_cases_and_what_was_judged(tools: Tools) -> None:
    provider = Scripted({"system": "You answer."})
    tools.evolve(provider)
    prompt = str(provider.asked[0].messages[0]["content"])
    assert SYSTEM["system.md"] in prompt
    assert "at most 2 lines" in prompt
    assert "Judged: DEFECT of the system" in prompt
    assert "  - step 1 is flawed: too hasty\n" in prompt
    assert "Judged: LAPSE: the system is good here" in prompt
    assert prompt.count("- id ") == 3


@pytest.mark.parametrize(
    ("answers", "reason", "calls"),
    [
        (["no", "no"], "the teacher's answer cannot be used: there is no JSON object in it", 2),
        (["cut"], "the teacher's answer cannot be used: the answer was cut off (max_tokens)", 1),
        ([{"prompt": "x"}] * 2, "the teacher's answer cannot be used: system: Field required", 2),
        ([{"system": " "}] * 2, "the teacher's answer cannot be used: system.md: the text is empty", 2),
        (
            [{"system": "All\nnew\nlines"}] * 2,
            "the teacher's answer cannot be used: 3 lines are changed, at most 2 may be",
            2,
        ),
        ([{"system": "You answer.\nBe brief.\nBe kind."}], "the texts are left as they were", 1),
        (
            [{"system": "You answer.\nSee held-out-7."}],
            "leak: system.md names the held-out question held-out-7",
            1,
        ),
        ([{"system": "You answer.\n" + "word " * 100}], "over the cap: system.md has 128 tokens of 100", 1),
    ],
)
def test_what_cannot_be_used_is_skipped_with_its_reason_and_paid(
    answers: list[Any], reason: str, calls: int, tools: Tools
) -> None:
    guard = LeakGuard([question("held-out-7", question="Where does the wet blue parcel go?")])
    found = tools.evolve(Scripted(*answers), guard=guard, config=Evolve(skill_token_cap=100))
    assert refused(found) == reason
    assert (len(found.calls), found.prompt_tokens) == (calls, 10 * calls)


def test_too_many_changed_lines_are_repaired_once(tools: Tools) -> None:
    provider = Scripted({"system": "All\nnew\nlines"}, {"system": "You answer.\nBe exact.\nBe kind."})
    assert tools.evolve(provider).status == "proposed"
    assert "3 lines are changed, at most 2 may be" in str(provider.asked[1].messages[2]["content"])


@pytest.mark.parametrize(
    ("pack", "reason"),
    [
        (Pack(), "no cases in the pack"),
        (Pack(cases=(LAPSE,)), "every failure is a lapse: the text is not to blame"),
    ],
)
def test_a_pack_that_makes_no_case_costs_no_call(pack: Pack, reason: str, tools: Tools) -> None:
    provider = Scripted()
    assert refused(tools.evolve(provider, pack=pack)) == reason
    assert provider.asked == []


def test_without_a_teacher_model_nothing_is_evolved() -> None:
    record = Record("system", "", SYSTEM, PACK)
    (found,) = evolve_records([record], budget=1, teacher=None, guard=LeakGuard([]), config=Evolve())
    assert refused(found) == "there is no teacher model (evolve.teacher)"


@pytest.mark.parametrize(("kind", "texts"), [("tool", {"extract": "x"}), ("system", TOOL), ("system", {})])
def test_a_record_with_other_texts_is_a_mistake(kind: Any, texts: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=f"a {kind} prompt has"):
        Record(kind, "", texts, PACK)


@pytest.mark.parametrize(
    ("after", "lines"),
    [("a\nb\nc", 0), ("a\nx\nc", 1), ("a\nc", 1), ("a\nb\nc\nd\ne", 2), ("x", 3), ("a\nx\ny\nc", 2)],
)
def test_changed_lines_by_hand(after: str, lines: int) -> None:
    assert changed_lines("a\nb\nc", after) == lines


def test_the_teacher_of_the_world_writes_both_kinds(tools: Tools) -> None:
    questions = [next(iter(unit.questions)) for unit in WORLD.units.values()]
    pack = Pack(cases=tuple(case(str(q["question_id"]), str(q["question"])) for q in questions))
    provider = RehearsalProvider(WORLD, "teacher")
    system = tools.evolve(provider, pack=pack, budget=3)
    record = tools.evolve(provider, TOOL, pack=pack)
    assert (system.status, record.status) == ("proposed", "proposed")
    assert {text.strip() for text in system.after.values()} <= set(WORLD.sentences)
    # One of a tool's two texts is given a sentence that its reader follows
    assert [text.strip() for text in record.after.values()] == [
        f"Note what you see.\n{KEEP_ALL}",
        "Look again.",
    ]


# --- lapses and ranking ---------------------------------------------------------------
def assignment(budget: int = 1, pack: Pack = PACK) -> Assignment:
    return Assignment("alpha", SKILL, pack, (), budget, (1, 0, "alpha"))


WIDE = Edit(op="add", section="Rules", text="- Be brief.", reason="long", support=("q1", "q2"))
NARROW = Edit(op="add", section="Rules", text="- Be quick.", reason="slow", support=("q1",))
EDITS = {"edits": [WIDE.model_dump(mode="json"), NARROW.model_dump(mode="json")]}


def test_a_skill_whose_failures_are_lapses_is_not_evolved() -> None:
    asked = assignment(pack=Pack(cases=(LAPSE,)))
    found = make_candidate(asked, "alpha/SKILL.md", ExemplarTeacher(), LeakGuard([]), Evolve(), 0)
    assert (found.status, found.reason) == ("skipped", "every failure is a lapse: the skill is not to blame")


@pytest.mark.parametrize(
    ("rank", "answers", "kept", "ranked", "calls"),
    [
        ("support", [EDITS], WIDE, None, 1),
        ("teacher", [EDITS, {"order": [2, 1]}], NARROW, (1, 0), 2),
        ("teacher", [EDITS, {"order": [2]}, {"order": [2, 1]}], NARROW, (1, 0), 3),
        ("teacher", [EDITS, {"order": [2, 2]}, "no"], WIDE, None, 3),
    ],
)
def test_more_edits_than_the_budget_are_ranked(
    rank: str, answers: list[Any], kept: Edit, ranked: tuple[int, ...] | None, calls: int, tools: Tools
) -> None:
    """By support the wide edit is kept; the teacher may prefer the narrow one, if its order is whole."""
    provider = Scripted(*answers)
    teacher = LlmTeacher(tools.client(provider), MODEL, TEMPLATES, "patch", rank)
    found = make_candidate(assignment(), "alpha/SKILL.md", teacher, LeakGuard([]), Evolve(), 0)
    assert found.applied == (kept,)
    assert (found.clipped, found.ranked, len(found.calls)) == (True, ranked, calls)
    assert found.prompt_tokens == 10 * calls


def test_edits_within_the_budget_are_not_ranked(tools: Tools) -> None:
    provider = Scripted(EDITS)
    teacher = LlmTeacher(tools.client(provider), MODEL, TEMPLATES, "patch", "teacher")
    assert teacher.propose(assignment(budget=2)).ranked is None
    assert len(provider.asked) == 1


def test_the_ranking_prompt_lists_the_edits_and_the_teacher_of_the_world_ranks_them(tools: Tools) -> None:
    asker = Asker(tools.client(RehearsalProvider(WORLD, "teacher")), MODEL, TEMPLATES)
    prompt = asker.prompt("rank.md", assignment=assignment(), edits=[WIDE, NARROW])
    assert "1. add: - Be brief. (long; 2 cases)\n2. add: - Be quick. (slow; 1 cases)\n" in prompt
    got = rank_edits(asker, assignment(), [WIDE, NARROW])
    assert got.value is not None
    assert sorted(got.value.order) == [1, 2]


def test_the_records_are_asked_for_together_and_one_without_a_case_not_at_all(tools: Tools) -> None:
    """Two first tries, then the repair of the second: its answer has no text."""
    provider = Scripted(
        {"system": "You answer.\nBe exact.\nBe kind."},
        {"extract": "", "verify": "Look."},
        {"extract": "Note it.", "verify": "Look."},
    )
    records = [
        Record("system", "system", SYSTEM, PACK),
        Record("tool", "idle", TOOL, Pack()),
        Record("tool", "lens", TOOL, PACK),
    ]
    teacher = Asker(tools.client(provider), MODEL, TEMPLATES)
    found = evolve_records(records, budget=2, teacher=teacher, guard=LeakGuard([]), config=Evolve())
    assert [(each.name, each.status, len(each.calls)) for each in found] == [
        ("system", "proposed", 1),
        ("idle", "skipped", 0),
        ("lens", "proposed", 2),
    ]
    assert [len(request.messages) for request in provider.asked] == [1, 1, 3]
