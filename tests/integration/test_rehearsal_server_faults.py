"""Faults of the rehearsal server, as a client meets them."""

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import openai
import pytest

from skillmake.rehearsal.faults import Fault
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World
from tests.serving import WORLD, ask, choice_format, right

Faults = Callable[..., None]


@pytest.fixture
def faults(url: str) -> Iterator[Faults]:
    def put(*rows: dict[str, Any]) -> None:
        assert post(f"{url}/faults", list(rows)) == {"faults": len(rows)}

    yield put
    put()


def post(address: str, value: Any) -> Any:
    data = json.dumps(value).encode()
    with urlopen(Request(address, data, {"Content-Type": "application/json"}), timeout=10) as answer:
        return json.load(answer)


def test_rate_limit_with_and_without_retry_after(client: openai.OpenAI, world: World, faults: Faults) -> None:
    faults({"kind": "429", "count": 1, "retry_after": 1.5}, {"kind": "429", "count": 1})
    with pytest.raises(openai.RateLimitError) as first:
        client.chat.completions.create(**ask(world))
    assert first.value.response.headers["retry-after"] == "1.5"
    assert first.value.code == "rate_limit_exceeded"
    with pytest.raises(openai.RateLimitError) as second:
        client.chat.completions.create(**ask(world))
    assert "retry-after" not in second.value.response.headers
    assert client.chat.completions.create(**ask(world)).choices


@pytest.mark.parametrize("kind", ["500", "503"])
def test_server_errors(client: openai.OpenAI, world: World, faults: Faults, kind: str) -> None:
    faults({"kind": kind, "count": 1})
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(**ask(world))
    assert caught.value.status_code == int(kind)


def test_the_clients_own_retries_get_through(url: str, world: World, faults: Faults) -> None:
    faults({"kind": "503", "count": 1, "retry_after": 0.01}, {"kind": "reset", "count": 1})
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=3) as client:
        assert client.chat.completions.create(**ask(world)).choices[0].message.content


def test_timeout(client: openai.OpenAI, world: World, faults: Faults) -> None:
    faults({"kind": "timeout", "count": 1})
    started = time.monotonic()
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.2).chat.completions.create(**ask(world))
    assert time.monotonic() - started < 5
    faults({"kind": "timeout", "count": 1, "latency_s": 0.2})
    assert client.chat.completions.create(**ask(world)).choices


@pytest.mark.parametrize(("kind", "cause"), [("reset", "reset|ReadError"), ("cut", "incomplete|peer closed")])
def test_cut_connections(client: openai.OpenAI, world: World, faults: Faults, kind: str, cause: str) -> None:
    faults({"kind": kind, "count": 1})
    with pytest.raises(openai.APIConnectionError) as caught:
        client.chat.completions.create(**ask(world))
    assert re.search(cause, repr(caught.value.__cause__))
    assert client.chat.completions.create(**ask(world)).choices


def test_a_cut_stream_breaks_in_the_middle(client: openai.OpenAI, world: World, faults: Faults) -> None:
    faults({"kind": "cut", "count": 1})
    stream = client.chat.completions.create(**ask(world, stream=True))
    pieces: list[str] = []
    with pytest.raises(openai.APIConnectionError):
        pieces.extend(chunk.choices[0].delta.content or "" for chunk in stream)
    text = "".join(pieces)
    assert text
    assert f"Answer: {right(world)}".startswith(text)
    assert text != f"Answer: {right(world)}"


def test_a_body_that_is_not_json(client: openai.OpenAI, world: World, faults: Faults) -> None:
    faults({"kind": "bad_body", "count": 1})
    with pytest.raises(json.JSONDecodeError):
        client.chat.completions.create(**ask(world))


def test_spoiled_answers(client: openai.OpenAI, world: World, faults: Faults) -> None:
    faults(
        *({"kind": k, "count": 1} for k in ("empty_choices", "content_filter", "length", "bad_json", "empty"))
    )
    body = ask(world, response_format=choice_format([right(world), "no"]))
    none, *answers = [client.chat.completions.create(**body) for _ in range(6)]
    assert none.choices == []
    refused, short, broken, empty, good = (
        (a.choices[0].message.content, a.choices[0].finish_reason) for a in answers
    )
    assert refused == ("", "content_filter")
    assert short[1] == "length"
    assert empty == ("", "stop")
    assert broken[1] == "stop"
    for text in (short[0], broken[0]):
        with pytest.raises(json.JSONDecodeError):
            json.loads(text or "")
    assert json.loads(good[0] or "") == {"answer": right(world)}


def test_a_huge_answer(client: openai.OpenAI, world: World, faults: Faults) -> None:
    faults({"kind": "huge", "count": 1})
    answer = client.chat.completions.create(**ask(world))
    assert len(json.loads(answer.choices[0].message.content or "")["answer"]) == 2_000_000


def test_a_rate_hits_its_share_and_the_same_calls_in_any_order(world: World) -> None:
    def hit(numbers: list[int]) -> set[int]:
        out = set()
        config = ServerConfig(world=WORLD, faults=(Fault(kind="500", rate=0.4),))
        with serve(config) as (url, _), openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as c:
            for number in numbers:
                try:
                    c.chat.completions.create(**ask(world, seed=number))
                except openai.InternalServerError:
                    out.add(number)
        return out

    forward = hit(list(range(60)))
    assert 10 < len(forward) < 40  # 24 expected
    assert forward == hit(list(range(59, -1, -1)))


def test_each_try_of_a_request_draws_its_fault_anew(url: str, world: World, faults: Faults) -> None:
    faults({"kind": "503", "rate": 0.5})
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        outcomes = set()
        for _ in range(20):
            try:
                outcomes.add(bool(client.chat.completions.create(**ask(world)).choices))
            except openai.InternalServerError:
                outcomes.add(False)
    assert outcomes == {True, False}


def test_faults_may_be_for_one_role(client: openai.OpenAI, world: World, faults: Faults) -> None:
    faults({"kind": "500", "rate": 1, "role": "teacher"})
    assert client.chat.completions.create(**ask(world)).choices
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(**{**ask(world), "model": "rehearsal-teacher"})


def test_wrong_faults_are_refused(url: str) -> None:
    with pytest.raises(HTTPError) as caught:
        post(f"{url}/faults", [{"kind": "earthquake"}])
    assert caught.value.code == 400
    assert "kind" in caught.value.read().decode()
