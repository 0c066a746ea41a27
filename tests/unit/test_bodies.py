"""Answers of an endpoint that hold none, refuse, or were cut off."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.loop import Agent, check_errors
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import TrainingAborted
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.completion import read_completion, refused
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import CallFailure
from tests.faulty import TEXTS, Busy, question


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
