"""Faults of an endpoint over HTTP and through the real client: the table of tests/faults.py (issue 6)."""

import json
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

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
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.completion import read_completion, refused, retry_after
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.openai_provider import OpenAIProvider, address
from skillmake.llm.types import CallFailure, Role
from skillmake.packs import Pack
from skillmake.questions import Question
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World
from skillmake.settle import settle
from skillmake.state import Best, State
from skillmake.structured import Asker
from skillmake.teachers.llm import LlmTeacher
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts, Version
from skillmake.units import Unit, make_units
from tests.faults import ANSWER_BYTES, FAULTS, RETRIES, VARIABLE, WRITERS, FaultRow, WriterRow, page
from tests.worlds import case

ROOT = Path(__file__).parents[2]
ALL_TRIES = RETRIES + 1
KEY = "sk-canary-7f1b3c"
WORLD = World(WorldConfig(types=1, units_per_type=30, pair_share=0.0, churn=0))
QUESTIONS = [Question.model_validate(row) for row in WORLD.questions()]
TYPE = QUESTIONS[0].task_type
PATH = "default-strategy/SKILL.md"
SKILL = "---\nname: default-strategy\ndescription: d\n---\n\n## Rules\n\n- Look first.\n"
TEXTS = Texts(
    skills=Version.of({PATH: SKILL}, None, "seed"),
    prompts=Version.of({"system.md": "Answer."}, None, "seed"),
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve(ServerConfig(world=WORLD.config, api_key=KEY)) as (address, _):
        yield address


@dataclass
class Endpoint:
    """The server as one test sees it: its faults, and clients with a cache and a log of their own."""

    url: str
    place: Path
    clients: list[Client]

    def fail(self, *faults: Mapping[str, Any]) -> None:
        data = json.dumps(faults).encode()
        urlopen(Request(f"{self.url}/faults", data, {"Content-Type": "application/json"})).close()

    def client(self, role: Role = "student", timeout: float = 20.0, **given: str) -> Client:
        parts = urlsplit(self.url)
        port = free_port() if "port" in given else parts.port
        base_url = f"http://{given.get('host', parts.hostname)}:{port}{given.get('path', '/v1')}"
        name = given.get("model", f"rehearsal-{role}")
        model = ModelConfig(provider="openai", model=name, base_url=base_url, api_key_env=VARIABLE)
        client = Client(
            OpenAIProvider(model, 2 * timeout, ANSWER_BYTES),
            role,
            CallCache(self.place / "cache"),
            Meter(self.place / "log", Caps(), "job"),
            name=f"{name} at {address(model)}",
            slots=4,
            timeout=timeout,
            retries=RETRIES,
            retry_wait=0,
        )
        self.clients.append(client)
        return client

    def agent(self, **more: Any) -> Agent:
        return Agent(self.client(**more), ModelConfig(), AgentConfig())

    @property
    def log(self) -> list[dict[str, Any]]:
        path = self.place / "log" / "calls" / "job.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    @property
    def cached(self) -> int:
        return len(list(self.place.rglob("calls/*/*.json")))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def endpoint(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv(VARIABLE, KEY)
    made = Endpoint(url, tmp_path, [])
    yield made
    for client in made.clients:
        client.close()
    made.fail()


def question() -> Question:
    """One that a skill without rules answers right."""
    unit = next(unit for unit in WORLD.units.values() if unit.needs == frozenset())
    return Question.model_validate(unit.questions[0])


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


# --- waits ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("asked", "date", "seconds"),
    [
        ("7", "", 7.0),
        ("1.5", "", 1.5),
        ("", "", None),
        ("soon", "", None),
        ("-3", "", None),
        # By the clock of the endpoint, wherever that stands
        ("Fri, 02 Jan 1970 00:00:30 GMT", "Fri, 02 Jan 1970 00:00:10 GMT", 20.0),
        ("Wed, 01 Jan 2070 00:00:30 GMT", "Wed, 01 Jan 2070 00:00:10 -0000", 20.0),
        ("Fri, 02 Jan 1970 00:00:30 GMT", "", 0.0),
    ],
)
def test_retry_after(asked: str, date: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": asked, "date": date}) == seconds


@pytest.mark.parametrize(
    ("asked", "waited"), [({"retry_after": 0.3}, 0.3), ({"retry_after": 1.2, "clock_s": -9e4}, 1)]
)
def test_what_the_endpoint_asks_for_is_waited_for(
    endpoint: Endpoint, asked: Mapping[str, float], waited: float
) -> None:
    endpoint.fail({"kind": "429", "count": 1, **asked})
    started = time.monotonic()
    assert endpoint.agent().run([question()], TEXTS)[0].right
    assert time.monotonic() - started >= waited  # a date has whole seconds


class Busy:
    """A provider that asks for an hour each time."""

    identity: dict[str, Any] = {"provider": "busy"}  # noqa: RUF012 - a constant

    async def complete(self, _: object) -> Any:
        raise CallFailure("HTTP 429: wait", retryable=True, retry_after=3600)

    async def close(self) -> None:
        return None


def busy(place: Path, **more: Any) -> Client:
    meter = Meter(place / "log", Caps(), "job")
    return Client(Busy(), "student", CallCache(place), meter, longest_wait=0, **more)


def test_a_wait_has_a_limit(tmp_path: Path) -> None:
    agent = Agent(busy(tmp_path, retries=3), ModelConfig(), AgentConfig())
    (row,) = agent.run([question()], TEXTS)  # an hour of waiting would show
    assert row.error == "HTTP 429: wait"


def test_calls_that_fail_one_after_the_other_stop_the_job(tmp_path: Path) -> None:
    client = busy(tmp_path, retries=1, give_up_after=4, name="gpt at http://there/v1")
    agent = Agent(client, ModelConfig(), AgentConfig())
    message = r"student model gpt at http://there/v1: 4 calls in a row failed in all their tries: HTTP 429"
    with pytest.raises(EndpointError, match=message):
        agent.run(QUESTIONS, TEXTS)
    assert len((tmp_path / "log/calls/job.jsonl").read_text().splitlines()) == 4
    assert json.loads((tmp_path / "log/spent.json").read_text())["calls"] == 8


# --- answers --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("[]", "unreadable answer: body: "),
        ('"yes"', "unreadable answer: body: "),
        ('{"choices": [{"index": 0}]}', "unreadable answer: choices.0.message: Field required"),
        ('{"error": {"message": "No  provider\\nleft."}}', "the answer has no choices: No provider left."),
        ('{"error": "overloaded", "choices": []}', "the answer has no choices: overloaded"),
    ],
)
def test_bodies_that_hold_no_answer(body: str, problem: str) -> None:
    with pytest.raises(CallFailure) as caught:
        read_completion(body.encode())
    assert caught.value.reason.startswith(problem)
    assert caught.value.retryable


def test_a_refusal_is_an_answer_and_usage_may_be_missing() -> None:
    body = {"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}
    answer = read_completion(json.dumps(body).encode())
    assert (answer.text, answer.finish, answer.prompt_tokens) == ("I cannot.", "stop", 0)


@pytest.mark.parametrize(
    ("status", "body", "reason", "ends"),
    [
        (400, {"message": "filtered", "code": "content_filter"}, "content filter", False),
        (422, {"detail": "seed: not supported"}, "HTTP 422: seed: not supported", False),
        (404, "model 'x' not found", "HTTP 404: model 'x' not found", True),
        (402, {"message": "Insufficient Balance"}, "HTTP 402: Insufficient Balance", True),
        (405, None, "HTTP 405: Method Not Allowed", True),
        (599, None, "HTTP 599: refused", False),
    ],
)
def test_other_refusals(status: int, body: Any, reason: str, ends: bool) -> None:
    failure = refused(status, body, {}, ModelConfig(provider="openai", model="m"))
    assert reason in failure.reason
    assert (failure.fatal, failure.retryable) == (ends, status == 599)


def test_a_page_of_a_proxy_that_is_busy_is_tried_again() -> None:
    html = {"content-type": "text/html", "retry-after": "2"}
    failure = refused(503, None, html, ModelConfig(provider="openai", model="m"))
    assert (failure.reason, failure.retryable) == ("HTTP 503: Service Unavailable", True)
    assert (failure.fatal, failure.retry_after) == (False, 2.0)


@pytest.mark.parametrize(
    ("text", "prediction"),
    [
        ("Because of that\nAnswer: {0}\nAnd also", "{0}"),
        ("It may be {0}, for", None),
        ("Answer: {0}", None),  # cut where it says {0}, of something longer
    ],
)
def test_an_answer_that_was_cut_off_counts_as_far_as_it_is_whole(
    tmp_path: Path, text: str, prediction: str | None
) -> None:
    asked = question()

    class Verbose(Busy):
        async def complete(self, _: object) -> Any:
            message = {"content": text.format(asked.answer)}
            return read_completion(
                json.dumps({"choices": [{"message": message, "finish_reason": "length"}]}).encode()
            )

    client = Client(Verbose(), "student", CallCache(tmp_path), Meter(tmp_path, Caps(), "t"))
    (row,) = Agent(client, ModelConfig(), AgentConfig()).run([asked], TEXTS)
    assert row.prediction == (prediction and asked.answer)
    assert (row.right, row.is_cut) == (prediction is not None, prediction is None)
    if row.is_cut:
        with pytest.raises(TrainingAborted, match=r"1 of 1 rollouts of m were cut off at max_tokens"):
            check_errors([row], 0.1, "m")


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
