"""The rehearsal server as the real `openai` client sees it."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import openai
import pytest

from skillmake.errors import ConfigError
from skillmake.rehearsal.faults import Fault
from skillmake.rehearsal.server import ServerConfig, main, serve
from skillmake.rehearsal.world import World
from tests.serving import WORLD, answer_format, ask, choice_format, right


def get(address: str) -> Any:
    with urlopen(address, timeout=10) as answer:
        return json.load(answer)


def test_free_text_with_usage(client: openai.OpenAI, world: World) -> None:
    answer = client.chat.completions.create(**ask(world))
    assert answer.choices[0].message.content == f"Answer: {right(world)}"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == len(ask(world)["messages"][0]["content"]) // 4
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer == client.chat.completions.create(**ask(world))


def test_structured_output(client: openai.OpenAI, world: World) -> None:
    options = list(next(iter(world.units.values())).options)
    as_object = client.chat.completions.create(
        **ask(world, response_format=choice_format([right(world), *options]))
    )
    assert json.loads(as_object.choices[0].message.content or "") == {"answer": right(world)}
    as_text = answer_format({"type": "string", "enum": [right(world), "no"]})
    plain = client.chat.completions.create(**ask(world, response_format=as_text))
    assert json.loads(plain.choices[0].message.content or "") == right(world)
    some = client.chat.completions.create(**ask(world, response_format={"type": "json_object"}))
    assert json.loads(some.choices[0].message.content or "") == {"answer": right(world)}


def test_teacher_and_judge_answer_by_their_models(client: openai.OpenAI, world: World) -> None:
    edits = client.chat.completions.create(**{**ask(world), "model": f"rehearsal-teacher@{world.digest}"})
    assert json.loads(edits.choices[0].message.content or "")["edits"]
    schema = {"type": "object", "properties": {"defect": {"type": "boolean"}, "why": {"type": "string"}}}
    body = {**ask(world, response_format=answer_format(schema)), "model": "rehearsal-judge"}
    verdict = client.chat.completions.create(**body)
    assert json.loads(verdict.choices[0].message.content or "") == {"defect": False, "why": ""}


def test_streaming_with_usage(client: openai.OpenAI, world: World) -> None:
    stream = client.chat.completions.create(**ask(world, stream=True, stream_options={"include_usage": True}))
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == f"Answer: {right(world)}"
    assert len(chunks) > 4
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    whole = client.chat.completions.create(**ask(world))
    assert chunks[-1].usage == whole.usage
    assert not any(c.usage for c in client.chat.completions.create(**ask(world, stream=True)))


def test_seed_is_the_replicate() -> None:
    noisy = WORLD.model_copy(update={"noise": 0.5})
    with (
        serve(ServerConfig(world=noisy)) as (url, _),
        openai.OpenAI(base_url=f"{url}/v1", api_key="k") as client,
    ):
        body = ask(World(noisy), temperature=1)
        draws = [client.chat.completions.create(**body, seed=s).choices[0].message.content for s in range(20)]
        assert len(set(draws)) == 2
        own = [World(noisy).answer(body["messages"], 1, replicate) for replicate in range(20)]
        assert draws == [f"Answer: {option}" for option in own]


def test_models_and_health(client: openai.OpenAI, url: str, world: World) -> None:
    names = {model.id for model in client.models.list()}
    assert names == {f"rehearsal-{role}@{world.digest}" for role in ("student", "teacher", "judge", "vision")}
    assert get(f"{url}/health") == {"status": "ok", "world": world.digest}


@pytest.mark.parametrize("model", ["gpt-4o", "rehearsal-student@000000000000", "rehearsal-critic"])
def test_an_unknown_model_is_not_found(client: openai.OpenAI, world: World, model: str) -> None:
    with pytest.raises(openai.NotFoundError, match="does not exist") as caught:
        client.chat.completions.create(**{**ask(world), "model": model})
    assert caught.value.code == "model_not_found"


def test_bad_requests_are_refused(client: openai.OpenAI, world: World) -> None:
    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.chat.completions.create(**ask(world, temperature=3))
    with pytest.raises(openai.BadRequestError, match="messages"):
        client.chat.completions.create(model="rehearsal-student", messages=[])


def test_a_wrong_key_is_refused(world: World) -> None:
    with serve(ServerConfig(world=WORLD, api_key="right")) as (url, _):
        with openai.OpenAI(base_url=f"{url}/v1", api_key="wrong") as client:
            with pytest.raises(openai.AuthenticationError) as caught:
                client.chat.completions.create(**ask(world))
            assert caught.value.code == "invalid_api_key"
            assert "wrong" in str(caught.value)  # as some endpoints do; the client must not tell it
            with pytest.raises(openai.AuthenticationError):
                client.models.list()
        with openai.OpenAI(base_url=f"{url}/v1", api_key="right") as client:
            assert client.chat.completions.create(**ask(world)).choices
    assert "right" not in repr(ServerConfig(api_key="right"))


def test_statistics(world: World) -> None:
    config = ServerConfig(world=WORLD, latency_s=0.3, faults=(Fault(kind="500", count=1),))
    with serve(config) as (url, _), openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(**ask(world))
        gate = threading.Barrier(3)

        def call(number: int) -> None:
            gate.wait()
            client.chat.completions.create(**ask(world, number))

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(call, [0, 1, 1]))
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(**{**ask(world), "model": "other"})
        assert get(f"{url}/stats") == {
            "calls": 5,
            "kinds": {"404": 1, "500": 1, "ok": 3},
            "max_in_flight": 3,
            "keys_paid": 2,
            "paid_again": 1,
        }


def test_a_call_that_was_given_up_is_not_in_flight_any_more(world: World) -> None:
    config = ServerConfig(world=WORLD, faults=(Fault(kind="timeout", rate=1),))
    with serve(config) as (url, _), openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        for _try in range(3):
            with pytest.raises(openai.APITimeoutError):
                client.with_options(timeout=0.1).chat.completions.create(**ask(world))
            time.sleep(0.1)
        stats = get(f"{url}/stats")
    assert (stats["kinds"], stats["max_in_flight"], stats["keys_paid"]) == ({"timeout": 3}, 1, 0)


def test_stopping_frees_the_address_and_a_taken_one_is_an_error() -> None:
    with serve(ServerConfig(world=WORLD)) as (url, stop):
        port = int(url.rsplit(":", 1)[1])
        with pytest.raises(ConfigError, match="cannot serve there"), serve(ServerConfig(), port=port):
            pass
        stop()
        with pytest.raises(OSError, match="refused"):
            get(f"{url}/health")


def test_stopping_does_not_wait_for_a_hanging_call(world: World) -> None:
    config = ServerConfig(world=WORLD, faults=(Fault(kind="timeout", count=1),))
    with (
        serve(config) as (url, stop),
        openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        hanging = pool.submit(lambda: client.chat.completions.create(**ask(world)))
        while get(f"{url}/stats")["calls"] == 0:
            time.sleep(0.01)
        started = time.monotonic()
        stop()
        assert time.monotonic() - started < 5
        assert isinstance(hanging.exception(timeout=5), openai.APIConnectionError)


def test_the_command_serves_the_world_of_a_file(tmp_path: Path, world: World) -> None:
    file = tmp_path / "world.json"
    file.write_text(WORLD.model_dump_json())
    command = [
        sys.executable,
        "-m",
        "skillmake.rehearsal.server",
        "--world",
        str(file),
        "--api-key-env",
        "KEY",
    ]
    root = Path(__file__).parents[2]
    env = {**os.environ, "KEY": "k1", "PYTHONPATH": str(root)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", line)
            with openai.OpenAI(base_url=line, api_key="k1", max_retries=0) as client:
                answer = client.chat.completions.create(**ask(world))
            assert answer.choices[0].message.content == f"Answer: {right(world)}"
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0


def test_the_command_explains_a_bad_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "world.json"
    file.write_text('{"types": 0}')
    assert main(["--world", str(file)]) == 1
    assert "types" in capsys.readouterr().err
