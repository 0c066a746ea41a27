"""Faults of an endpoint over HTTP and through the real client: the table of tests/faults.py (issue 6)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.factory import answer_all
from skillmake.agent.loop import Agent, Prediction, check_errors
from skillmake.candidate import Candidate
from skillmake.config.endpoints import ModelConfig
from skillmake.config.load import parse_config
from skillmake.config.models import Agent as AgentConfig
from skillmake.config.models import Diagnose, Evolve, Gate
from skillmake.errors import EndpointError, TrainingAborted
from skillmake.evolve import Assignment, make_candidate
from skillmake.gating import gate_candidate
from skillmake.guards import LeakGuard
from skillmake.job import Job
from skillmake.judges.diagnosis import diagnose_by_judges
from skillmake.packs import Pack
from skillmake.settle import settle
from skillmake.state import Best, State
from skillmake.structured import Asker
from skillmake.teachers.llm import LlmTeacher
from skillmake.teachers.templates import Templates
from skillmake.units import Unit, make_units
from tests.faults import FAULTS, RETRIES, VARIABLE, WRITERS, FaultRow, WriterRow, page
from tests.faulty import PATH, QUESTIONS, SKILL, TEXTS, Endpoint, question
from tests.worlds import case

ROOT = Path(__file__).parents[2]
ALL_TRIES = RETRIES + 1
TYPE = QUESTIONS[0].task_type


# --- the table ------------------------------------------------------------------------
def outcome(row: Prediction) -> str:
    return {True: "right", False: "wrong", None: "error"}[row.right]


@pytest.mark.parametrize("row", FAULTS, ids=lambda row: row.fault)
def test_a_fault_that_stays(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, row: FaultRow) -> None:
    if row.inject:
        endpoint.fail({**row.inject, "rate": 1.0})
    if "key" in row.given:
        monkeypatch.setenv(VARIABLE, row.given["key"])
    agent = endpoint.agent(timeout=0.3 if row.inject.get("kind") == "timeout" else 20.0, **row.given)
    try:
        (prediction,) = agent.run([question()], TEXTS)
        became, said = outcome(prediction), prediction.error
    except EndpointError as error:
        became, said = "stops", str(error)
    assert (became, endpoint.log[-1]["tries"]) == (row.always, row.tries)
    assert row.says in said
    assert endpoint.cached == (row.always == "wrong")
    for text in (said, *(path.read_text() for path in endpoint.place.rglob("*") if path.is_file())):
        assert "sk-" not in text


@pytest.mark.parametrize("row", [row for row in FAULTS if row.once], ids=lambda row: row.fault)
def test_a_fault_that_passes(endpoint: Endpoint, row: FaultRow) -> None:
    endpoint.fail({**row.inject, "count": 1})
    # Long enough for a try that is not hit, on a machine that is busy
    agent = endpoint.agent(timeout=1.5 if row.inject["kind"] == "timeout" else 20.0)
    try:
        (prediction,) = agent.run([question()], TEXTS)
        assert outcome(prediction) == row.once
    except EndpointError:
        assert row.once == "stops"
    assert endpoint.cached == (row.once in ("right", "wrong"))
    if row.once == "right":
        assert endpoint.log[-1]["tries"] >= 2


def test_the_page_is_that_of_the_table() -> None:
    assert (ROOT / "docs/faults.md").read_text() == page(), "python -m tests.faults > docs/faults.md"


# --- a set of rollouts, and the gate --------------------------------------------------
def test_too_many_errors_stop_a_rollout_and_name_the_endpoint(endpoint: Endpoint) -> None:
    endpoint.fail({"kind": "500", "count": 3 * ALL_TRIES}, {"kind": "content_filter", "count": 1})
    client = endpoint.client()
    rows = Agent(client, ModelConfig(), AgentConfig()).run(QUESTIONS, TEXTS)
    failed = [row for row in rows if row.right is None]
    assert len(failed) == client.failed
    assert 2 <= len(failed) <= 12
    check_errors(rows, len(failed) / len(rows), client.name)
    with pytest.raises(TrainingAborted) as caught:
        check_errors(rows, (len(failed) - 0.5) / len(rows), client.name)
    said = str(caught.value)
    assert f"{len(failed)} of 30 rollouts of rehearsal-student at {endpoint.url}/v1 failed: " in said
    assert "HTTP 500: The server had an error" in said
    assert "1 × refused by the endpoint's content filter" in said
    # Once it is repaired, only what failed is asked again
    endpoint.fail()
    again = Agent(endpoint.client(), ModelConfig(), AgentConfig()).run(QUESTIONS, TEXTS)
    assert all(row.right is not None for row in again)
    assert sum(not line["cached"] for line in endpoint.log[len(rows) :]) == len(failed)


def test_a_rule_keeps_results_with_errors_out_of_the_memo(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILLMAKE_CACHE", str(endpoint.place / "cache"))
    student = {"provider": "openai", "model": "rehearsal-student", "base_url": f"{endpoint.url}/v1"}
    config = parse_config({"models": {"student": {**student, "api_key_env": VARIABLE}}})
    io = {"inputs": {}, "outputs": {}, "wildcards": {}, "run": str(endpoint.place / "run")}

    def answered() -> tuple[Job, list[Prediction]]:
        job = Job("baseline", config, io)
        return job, answer_all(job, QUESTIONS, TEXTS)

    endpoint.fail({"kind": "content_filter", "count": 4})
    with pytest.raises(
        TrainingAborted, match=r"4 of 30 rollouts of rehearsal-student at http://\S+/v1 failed"
    ):
        answered()
    endpoint.fail({"kind": "content_filter", "count": 3})  # of what is not cached yet
    job, rows = answered()
    assert (job.is_reusable, [row.right for row in rows].count(None)) == (False, 3)
    job, rows = answered()
    assert (job.is_reusable, [row.right for row in rows].count(None)) == (True, 0)


def at_gate(endpoint: Endpoint, pool: Sequence[Unit]) -> tuple[Any, State]:
    candidate = Candidate.model_validate(
        {
            "task_type": TYPE,
            "path": PATH,
            "status": "proposed",
            "parent": "p",
            "text": f"{SKILL}- Be kind.\n",
            "budget": 1,
        }
    )
    best = Best(skills="s", prompts="p", accuracy=0.5, epoch=0)
    state = State(epoch=0, step=0, total_steps=1, correctness={}, best=best)
    gate = Gate(n_max=20, rung=10, futility=0, guard_err=0.1)
    return gate_candidate(candidate, TEXTS, state, pool, endpoint.agent(), gate, (1,)), state


def test_a_gate_with_errors_is_inconclusive_and_rejects_nothing(endpoint: Endpoint) -> None:
    pool = make_units(QUESTIONS)
    endpoint.fail({"kind": "content_filter", "count": 4})
    result, state = at_gate(endpoint, pool)
    assert (result.decision.action, result.decision.stop_reason) == ("inconclusive", "errors")
    assert result.decision.numbers.errors == 4
    assert result.decision.numbers.n == len(result.decision.evidence) - 4
    after, texts = settle(state, TEXTS, [result], pool, 1)
    assert after.rejected == {}
    assert texts == TEXTS
    # The same gate without a fault reads the same candidate as one without effect
    endpoint.fail()
    result, _ = at_gate(endpoint, pool)
    assert (result.decision.action, result.decision.numbers.errors) == ("reject", 0)


# --- teacher and judge ----------------------------------------------------------------
@pytest.mark.parametrize("row", WRITERS, ids=lambda row: row.fault)
def test_a_teacher_without_a_usable_answer_is_skipped(endpoint: Endpoint, row: WriterRow) -> None:
    endpoint.fail({"kind": row.kind, "rate": 1.0})
    teacher = LlmTeacher(
        endpoint.client("teacher"), ModelConfig(max_tokens=2000), Templates(ROOT / "prompts/evolve"), "patch"
    )
    pack = Pack(cases=tuple(case(q.question_id, False) for q in QUESTIONS[:3]))
    assignment = Assignment(TYPE, SKILL, pack, (), 3, (1,))
    candidate = make_candidate(assignment, PATH, teacher, LeakGuard(()), Evolve(teacher="llm"), 0)
    assert (candidate.status, candidate.text) == ("skipped", SKILL)
    assert row.teacher in candidate.reason


@pytest.mark.parametrize("row", WRITERS, ids=lambda row: row.fault)
def test_a_judge_without_a_usable_answer_is_degraded(endpoint: Endpoint, row: WriterRow) -> None:
    endpoint.fail({"kind": row.kind, "rate": 1.0})
    asked = question()
    wrong = Prediction(
        question_id=asked.question_id,
        unit_id=asked.unit_id or asked.question_id,
        task_type=TYPE,
        prediction="no",
        right=False,
        stop_reason="answered",
        calls=("c",),
    )
    lost = wrong.model_copy(update={"question_id": "lost", "right": None, "stop_reason": "error"})
    known = {asked.question_id: asked, "lost": asked}

    def judge(most: float) -> Any:
        client, templates = endpoint.client("judge"), Templates(ROOT / "prompts/diagnose")
        asker = Asker(client, ModelConfig(max_tokens=1000), templates)
        config = Diagnose(method="judges", max_degraded_share=most)
        return diagnose_by_judges([wrong, lost], known, TEXTS, asker=asker, config=config, seed=(1,))

    found = judge(1.0)
    assert found.degraded == 1
    assert set(found.judgings) == {asked.question_id}  # what ended in an error is no case
    assert row.judge in found.judgings[asked.question_id].degraded
    if row.kind == "length":
        with pytest.raises(TrainingAborted, match="nothing usable for 1 of 1 wrong answers"):
            judge(0.5)
