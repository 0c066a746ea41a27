"""The judges of the known-truth world, in process and over HTTP."""

import os
from pathlib import Path

import pytest

from skillmake.agent.loop import Agent, Prediction
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import TrainingAborted
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.openai_provider import OpenAIProvider
from skillmake.questions import Question
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World
from skillmake.texts import Texts, Version
from tests.judging import PROMPTS, SKILL, DiagnosisOf


# --- the known-truth world ------------------------------------------------------------
def world_of(judge_error: float) -> World:
    return World(WorldConfig(types=2, units_per_type=24, pair_share=0.0, judge_error=judge_error))


def rollouts(world: World, tmp_path: Path) -> tuple[list[Prediction], dict[str, Question], Texts]:
    questions = {str(q["question_id"]): Question.model_validate(q) for q in world.questions()}
    files = {f"{name.replace(' ', '-')}/SKILL.md": SKILL for name in (t.name for t in world.types)}
    texts = Texts(skills=Version.of(files, None, "seed"), prompts=Version.of(PROMPTS, None, "seed"))
    client = Client(
        RehearsalProvider(world), "student", CallCache(tmp_path / "s"), Meter(tmp_path, Caps(), "s")
    )
    try:
        agent = Agent(client, ModelConfig(provider="rehearsal", model="s"), AgentConfig())
        return agent.run(questions.values(), texts), questions, texts
    finally:
        client.close()


def test_the_judge_of_the_world_tells_the_truth(diagnosis_of: DiagnosisOf, tmp_path: Path) -> None:
    """With the seed text a case that needs a rule is a defect; one that needs none went wrong by chance."""
    world = world_of(0.0)
    rows, questions, texts = rollouts(world, tmp_path)
    found = diagnosis_of(RehearsalProvider(world, "judge"), rows, questions, texts)
    assert found.degraded == 0
    cases = {case.question_id: case for pack in found.skill.values() for case in pack.cases}
    units = {unit.unit_id: unit for unit in world.units.values()}
    failed = {name: case for name, case in cases.items() if not case.right}
    assert {case.verdict for case in failed.values()} == {"defect", "lapse"}
    for name, case in failed.items():
        assert (case.verdict == "defect") is bool(units[name].needs)
        assert found.soft[name] == 0.0
    assert all(found.soft[name] == 1.0 for name in set(cases) - set(failed))


def test_judges_that_err_in_a_fifth_of_their_answers_are_used(
    diagnosis_of: DiagnosisOf, tmp_path: Path
) -> None:
    world = world_of(0.2)
    rows, questions, texts = rollouts(world, tmp_path)
    found = diagnosis_of(RehearsalProvider(world, "judge"), rows, questions, texts)
    failed = sum(row.right is False for row in rows)
    assert 0 < found.degraded < failed / 2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_judges_that_err_in_most_of_their_answers_are_stopped(
    seed: int, diagnosis_of: DiagnosisOf, tmp_path: Path
) -> None:
    world = World(world_of(0.6).config.model_copy(update={"seed": seed}))
    rows, questions, texts = rollouts(world, tmp_path)
    with pytest.raises(TrainingAborted, match=r"wrong answers, more than diagnose\.max_degraded_share 0\.5"):
        diagnosis_of(RehearsalProvider(world, "judge"), rows, questions, texts)


def test_over_http_the_judges_say_the_same_as_in_process(
    diagnosis_of: DiagnosisOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(0.1)
    rows, questions, texts = rollouts(world, tmp_path)
    rows = rows[:6]
    here = diagnosis_of(RehearsalProvider(world, "judge"), rows, questions, texts)
    monkeypatch.setitem(os.environ, "NO_PROXY", "127.0.0.1")
    with serve(ServerConfig(world=world.config)) as (url, _):
        model = ModelConfig(provider="openai", model="rehearsal-judge", base_url=f"{url}/v1")
        there = diagnosis_of(OpenAIProvider(model, 20.0), rows, questions, texts)
    assert any(not row.right for row in rows)
    assert there.skill == here.skill
    assert there.soft == here.soft
    tokens = {name: judging.prompt_tokens for name, judging in here.judgings.items()}
    assert {name: judging.prompt_tokens for name, judging in there.judgings.items()} == tokens
