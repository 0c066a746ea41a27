"""The teacher that is a model: what it is shown, and what its answers become."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest

from skillmake.config.endpoints import ModelConfig
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.openai_provider import OpenAIProvider
from skillmake.llm.types import CallError, CallFailure, ChatRequest, ChatResponse
from skillmake.packs import Pack
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.faults import spoiled
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World
from skillmake.teachers.llm import LlmTeacher
from skillmake.teachers.templates import Templates
from tests.evolving import HEAD, KIND, MOMENTUM, SKILL, case, job, made, refused, rejection

WORLD = World(WorldConfig(types=1, units_per_type=12, pair_share=0.0))
TEMPLATES = Templates(Path(__file__).parents[2] / "prompts" / "evolve")


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


def test_an_endpoint_that_refuses_schemas_is_asked_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused once; a student whose answers are held to options is told."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve(ServerConfig(world=WORLD.config, lacks={"schema": "refuses"})) as (url, _):
        config = ModelConfig(
            provider="openai", model="rehearsal-teacher", base_url=f"{url}/v1", max_tokens=2000
        )
        provider = OpenAIProvider(config, 20.0)
        client = Client(provider, "teacher", CallCache(tmp_path / "cache"), Meter(tmp_path, Caps(), "t"))
        teacher = LlmTeacher(client, config, TEMPLATES, "patch")
        proposals = [teacher.propose(job(cases(), budget=budget)) for budget in (3, 4)]
        (held,) = client.ask([ChatRequest(({"role": "user", "content": "Hello."},), choices=("a", "b"))])
        client.close()
        with urlopen(f"{url}/stats", timeout=10) as answer:
            kinds = json.load(answer)["kinds"]
    assert all(proposal.edits for proposal in proposals)
    assert isinstance(held.outcome, CallError)
    assert held.outcome.reason.startswith("HTTP 400: schema: not supported")
    assert kinds == {"400": 2, "ok": 2}
