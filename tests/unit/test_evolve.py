"""From a teacher's answer to a candidate (SPEC §5); the teacher model is that of the rehearsal world."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from skillmake.artifacts import sha256
from skillmake.candidate import Candidate
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Evolve
from skillmake.edits import Edit
from skillmake.evolve import Assignment, Proposal, Teacher, assign, make_candidate
from skillmake.gate import GateNumbers
from skillmake.guards import LeakGuard
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse
from skillmake.packs import Case, Diagnosis, Pack
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.faults import spoiled
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.world import World
from skillmake.state import Best, RejectedEdit, State
from skillmake.teachers.llm import LlmTeacher
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts, Version
from tests.worlds import question

HEAD = "---\nname: parcel-desk\ndescription: Where a parcel goes.\n---\n"
MOMENTUM = "<!-- momentum:begin -->\nKeep it short.\n<!-- momentum:end -->\n"
SKILL = f"{HEAD}\n## Rules\n\n- Be kind.\n\n{MOMENTUM}"
CONFIG = Evolve()
WORLD = World(WorldConfig(types=1, units_per_type=12, pair_share=0.0))
TEMPLATES = Templates(Path(__file__).parents[2] / "prompts" / "evolve")
KIND = Edit(op="replace", anchor="- Be kind.", text="- Be quick.", reason="slow", support=("q1",))


def case(question_id: str, text: str = "Where to?") -> Case:
    value = {"question": text, "options": None, "answer": "here", "prediction": "there", "right": False}
    return Case.model_validate({"question_id": question_id, "unit_id": f"unit {question_id}", **value})


PACK = Pack(cases=(case("q2"), case("q1")))


def job(pack: Pack = PACK, rejected: tuple[RejectedEdit, ...] = (), budget: int = 4) -> Assignment:
    return Assignment("parcel desk", SKILL, pack, rejected, budget, (1, 0, "parcel desk"))


def rejection(*edits: Edit) -> RejectedEdit:
    return RejectedEdit(edits=edits, numbers=GateNumbers(losses=2, n=9), step=1, why="futile")


@dataclass
class Fixed:
    """A teacher with one answer, which counts how often it is asked."""

    answer: Proposal
    asked: list[Assignment] = field(default_factory=list)

    def propose(self, assignment: Assignment) -> Proposal:
        self.asked.append(assignment)
        return self.answer


def made(
    teacher: Teacher | Proposal,
    assignment: Assignment | None = None,
    *,
    cooldown: int = 0,
    guard: LeakGuard | None = None,
    config: Evolve = CONFIG,
) -> Candidate:
    teacher = Fixed(teacher) if isinstance(teacher, Proposal) else teacher
    return make_candidate(
        assignment or job(), "parcel-desk/SKILL.md", teacher, guard or LeakGuard([]), config, cooldown
    )


def refused(candidate: Candidate) -> str:
    """Why it never reaches the gate; its text is the old one."""
    assert (candidate.status, candidate.text) == ("skipped", SKILL)
    return candidate.reason


def test_a_proposed_candidate_carries_what_the_gate_and_the_record_need() -> None:
    candidate = made(Proposal(edits=(KIND,), calls=("k",), prompt_tokens=9, completion_tokens=3))
    assert (candidate.status, candidate.reason) == ("proposed", "")
    assert candidate.text == SKILL.replace("kind", "quick")
    assert candidate.parent == sha256(SKILL)
    assert candidate.pack_units == ("unit q1", "unit q2")
    assert candidate.applied == (KIND,)
    assert (candidate.calls, candidate.prompt_tokens, candidate.completion_tokens) == (("k",), 9, 3)
    assert (candidate.path, candidate.budget, candidate.clipped) == ("parcel-desk/SKILL.md", 4, False)


def test_cooldown_or_an_empty_pack_cost_no_call() -> None:
    teacher = Fixed(Proposal(edits=(KIND,)))
    assert refused(made(teacher, cooldown=2)) == "cooldown: 2 more steps"
    assert refused(made(teacher, job(Pack()))) == "no cases in the pack"
    assert teacher.asked == []


def test_a_teacher_that_has_nothing_says_why_and_is_still_paid() -> None:
    candidate = made(Proposal(nothing="no idea", calls=("k",), prompt_tokens=9, completion_tokens=3))
    assert refused(candidate) == "no idea"
    assert (candidate.calls, candidate.prompt_tokens, candidate.completion_tokens) == (("k",), 9, 3)


def test_nothing_applied_says_what_became_of_each_edit() -> None:
    lost = Edit(op="replace", anchor="- Nowhere to be found.", text="x")
    fenced = Edit(op="replace", anchor="Keep it short.", text="x")
    candidate = made(Proposal(edits=(lost, fenced, lost)))
    assert refused(candidate) == "no edit was applied: 1 protected, 2 target_not_found"
    assert [report.edit for report in candidate.reports] == [lost, fenced, lost]
    assert refused(made(Proposal())) == "no edit was applied: none was proposed"


def test_edits_that_undo_each_other_leave_the_text_as_it_was() -> None:
    there, back = Edit(op="add", section="Rules", text="- Be brief."), Edit(op="delete", anchor="- Be brief.")
    candidate = made(Proposal(edits=(there, back)))
    assert candidate.applied == (there, back)
    assert refused(candidate) == "the edits leave the text as it was"


def test_the_same_edits_are_not_tried_again_in_whatever_order() -> None:
    more = Edit(op="add", section="Rules", text="- Be brief.")
    again = job(rejected=(rejection(Edit(op="delete", anchor="x")), rejection(more, KIND)))
    assert refused(made(Proposal(edits=(KIND, more)), again)) == "the same edits were rejected before"
    assert made(Proposal(edits=(KIND,)), again).status == "proposed"


def test_more_edits_than_the_budget_are_clipped_and_the_clip_is_recorded() -> None:
    more = Edit(op="add", section="Rules", text="- Be brief.", support=("q1", "q2"))
    candidate = made(Proposal(edits=(KIND, more)), job(budget=1))
    assert candidate.clipped
    assert candidate.applied == (more,)  # two cases support it, one the other
    assert [report.status for report in candidate.reports] == ["over_budget", "applied"]


def test_a_leak_never_reaches_the_gate() -> None:
    guard = LeakGuard([question("held-out-7", question="Where does the wet blue parcel go?")])
    leak = Edit(op="add", section="Rules", text="- Where does the wet blue parcel go? Here.")
    assert refused(made(Proposal(edits=(leak,)), guard=guard)) == "no edit was applied: 1 leak"
    rewritten = Proposal(rewritten="As in held-out-7.")
    assert refused(made(rewritten, guard=guard)) == "no edit was applied: 1 leak"


def test_the_appendix_is_consolidated() -> None:
    edits = tuple(
        Edit(op="add", section="Appendix", text=f"- {word} alone") for word in ("Red", "Blue", "Jam")
    )
    candidate = made(Proposal(edits=edits), config=Evolve(appendix_consolidate_threshold=2))
    assert "## Appendix\n\n- Blue alone\n- Jam alone\n" in candidate.text


@pytest.mark.parametrize("front", ["", "---\nname: other\ndescription: Another.\n---\n\n"])
@pytest.mark.parametrize("fence", ["", "\n<!-- momentum:begin -->\nGo on for long.\n<!-- momentum:end -->\n"])
def test_a_rewrite_keeps_front_matter_and_momentum(front: str, fence: str) -> None:
    candidate = made(Proposal(rewritten=f"{front}## Rules\n\n- All new.\n{fence}"))
    assert candidate.status == "proposed"
    assert candidate.text == f"{HEAD}\n## Rules\n\n- All new.\n\n{MOMENTUM}"


def test_a_rewrite_with_a_lone_momentum_marker_is_refused() -> None:
    candidate = made(Proposal(rewritten="- All new.\n<!-- momentum:begin -->\nMine."))
    assert refused(candidate) == "no edit was applied: 1 protected"


def test_a_rewrite_that_is_too_long_or_says_the_same_is_skipped() -> None:
    candidate = made(Proposal(rewritten="word " * 100), config=Evolve(skill_token_cap=100))
    assert refused(candidate) == "no edit was applied: 1 over_cap"
    assert refused(made(Proposal(rewritten="## Rules\n\n- Be kind."))) == "the edits leave the text as it was"


def test_an_assignment_has_the_types_own_skill_pack_and_rejected_edits() -> None:
    best = Best(skills="s", prompts="p", accuracy=0.5, epoch=0)
    entries = {"alpha": (rejection(KIND),), "beta": (rejection(),)}
    state = State(epoch=0, step=0, total_steps=1, correctness={}, best=best, rejected=entries)
    files = {"alpha/SKILL.md": "a", "beta/SKILL.md": "b", "gamma/SKILL.md": "c"}
    texts = Texts(skills=Version.of(files, None, "seed"), prompts=Version.of({}, None, "seed"))
    packs = {"alpha": PACK, "beta": Pack()}
    found = Diagnosis(method="rules", skill=packs, system=Pack(), tools={}, soft={}, degraded=0)
    one = assign("alpha", texts, found, state, 3, (1, 2))
    assert one == Assignment("alpha", "a", PACK, (rejection(KIND),), 3, (1, 2, "alpha"))
    many = tuple(rejection(*[KIND] * k) for k in range(3))
    state = state.model_copy(update={"rejected": {"alpha": many}})
    for memory, told in ((None, many), (5, many), (2, many[1:]), (0, ())):
        assert assign("alpha", texts, found, state, 3, (1, 2), memory).rejected == told
    none = assign("gamma", texts, found, state, 3, (1, 2))
    assert (none.skill, none.pack, none.rejected) == ("c", Pack(), ())


class Spoiling(RehearsalProvider):
    """The rehearsal teacher; its first answers are spoiled as the list says."""

    def __init__(self, *faults: str) -> None:
        super().__init__(WORLD, "teacher")
        self.faults, self.asked = list(faults), list[ChatRequest]()

    def reply(self, request: ChatRequest) -> ChatResponse:
        self.asked.append(request)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "refused":
            raise CallFailure("HTTP 400")
        return spoiled(super().reply(request), fault)


class Model(NamedTuple):
    provider: Spoiling
    teacher: LlmTeacher


@pytest.fixture
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Model]:
    """Indirect parameter: (mode, max_tokens, faults…)."""
    mode, max_tokens, *faults = request.param
    provider = Spoiling(*faults)
    client = Client(provider, "teacher", CallCache(tmp_path / "cache"), Meter(tmp_path, Caps(), "t"))
    config = ModelConfig(provider="rehearsal", model="teacher", max_tokens=max_tokens)
    yield Model(provider, LlmTeacher(client, config, TEMPLATES, mode))
    client.close()


def cases() -> Pack:
    """Every case of the world, failed."""
    texts = [next(iter(unit.questions)) for unit in WORLD.units.values()]
    return Pack(cases=tuple(case(str(q["question_id"]), str(q["question"])) for q in texts))


def with_model(*parameters: object) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("model", [parameters], indirect=True)


@with_model("patch", 2000)
def test_the_llm_teacher_writes_edits_of_the_type(model: Model) -> None:
    proposal = model.teacher.propose(job(cases()))
    assert proposal.nothing == ""
    assert proposal.edits
    known = {sentence for pool in WORLD.types[0].sentences.values() for sentence in pool}
    assert all(edit.op == "add" and edit.text in known for edit in proposal.edits)
    (asked,) = model.provider.asked
    reply = RehearsalProvider(WORLD, "teacher").reply(asked)
    paid = (len(proposal.calls), proposal.prompt_tokens, proposal.completion_tokens)
    assert paid == (1, reply.prompt_tokens, reply.completion_tokens)


@with_model("patch", 2000)
def test_the_prompt_shows_skill_cases_budget_and_what_was_rejected(model: Model) -> None:
    model.teacher.propose(job(cases(), (rejection(KIND),), budget=3))
    prompt = str(model.provider.asked[0].messages[0]["content"])
    assert SKILL in prompt
    assert all(case.question in prompt for case in cases().cases)
    assert "At most 3 edits" in prompt
    assert "replace: - Be quick. (wins 0, losses 2 of 9 units, evidence 1.0; futile)" in prompt


@with_model("rewrite", 2000)
def test_the_llm_teacher_rewrites_a_skill(model: Model) -> None:
    candidate = made(model.teacher, job(cases()))
    assert candidate.status == "proposed"
    assert candidate.text.startswith(f"{HEAD}\n## Rules\n- When the parcel is ")
    assert candidate.text.endswith(f"\n\n{MOMENTUM}")


@with_model("patch", 20)
def test_a_truncated_answer_is_skipped_with_its_reason_and_not_repaired(model: Model) -> None:
    candidate = made(model.teacher, job(cases()))
    assert refused(candidate) == "the teacher's answer was cut off (models.teacher.max_tokens)"
    assert len(candidate.calls) == len(model.provider.asked) == 1
    assert candidate.completion_tokens == 20


@with_model("patch", 2000, "bad_json", "bad_json")
def test_an_answer_that_is_unparsable_twice_is_skipped(model: Model) -> None:
    candidate = made(model.teacher, job(cases()))
    assert refused(candidate).startswith("the teacher's answer cannot be used: ")
    assert len(candidate.calls) == len(set(candidate.calls)) == len(model.provider.asked) == 2


@pytest.mark.parametrize(
    "model",
    [("patch", 2000, "bad_json"), ("rewrite", 2000, "bad_json"), ("patch", 2000, "empty")],
    indirect=True,
)
def test_an_unparsable_answer_is_repaired_once(model: Model) -> None:
    candidate = made(model.teacher, job(cases()))
    assert candidate.status == "proposed"
    first, second = model.provider.asked
    assert second.messages[:1] == first.messages
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    assert str(second.messages[2]["content"]).startswith("Your answer could not be used: ")
    assert len(candidate.calls) == 2
    single = RehearsalProvider(WORLD, "teacher").reply(first).prompt_tokens
    assert candidate.prompt_tokens > 2 * single  # both calls are paid, the second is longer


@with_model("patch", 2000, "refused")
def test_a_call_that_fails_for_good_is_skipped_with_its_reason(model: Model) -> None:
    assert refused(made(model.teacher, job(cases()))) == "teacher call failed: HTTP 400"
