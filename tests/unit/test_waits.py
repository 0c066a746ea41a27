"""How long a client waits for an endpoint that is busy, and when it gives up."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.loop import Agent
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import EndpointError
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.completion import retry_after
from skillmake.llm.cost import Caps, Meter
from tests.faulty import QUESTIONS, TEXTS, Busy, Endpoint, question


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
