"""The client: cache, retries, caps, errors as a third value; against the real rehearsal world and server."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from skillmake.config.endpoints import ModelConfig
from skillmake.errors import EndpointError, TrainingAborted
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter, Price
from skillmake.llm.openai_provider import OpenAIProvider
from skillmake.llm.types import ChatRequest
from skillmake.rehearsal.faults import Fault
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World, WorldConfig

WORLD = WorldConfig(types=1, units_per_type=12, pair_share=0.0)
QUESTIONS = World(WORLD).questions()
KEY = "sk-canary-7f1b"


def requests(n: int = 3) -> list[ChatRequest]:
    return [
        ChatRequest(
            messages=({"role": "user", "content": q["question"]},), choices=tuple(q["options"]), max_tokens=50
        )
        for q in QUESTIONS[:n]
    ]


def in_process(tmp_path: Path, caps: Caps | None = None) -> Client:
    return Client(
        RehearsalProvider(World(WORLD), "student"),
        "student",
        CallCache(tmp_path / "cache"),
        Meter(tmp_path / "log", caps or Caps(), "job"),
        price=Price(1_000_000, 0),
        slots=2,
        retries=2,
    )


def log_lines(tmp_path: Path) -> list[dict[str, object]]:
    path = tmp_path / "log" / "calls" / "job.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_call_is_paid_once(tmp_path: Path) -> None:
    first = in_process(tmp_path).ask([*requests(), *requests()])
    again = in_process(tmp_path).ask(requests())
    assert [reply.outcome for reply in first[:3]] == [reply.outcome for reply in first[3:]]
    assert [reply.outcome for reply in again] == [reply.outcome for reply in first[:3]]
    assert [row["cached"] for row in log_lines(tmp_path)] == [False] * 3 + [True] * 3
    spent = json.loads((tmp_path / "log" / "spent.json").read_text())
    prompt = sum(reply.response.prompt_tokens for reply in again if reply.response)
    assert spent["calls"] == 3
    assert spent["cost"] == pytest.approx(prompt)


def test_replicates_have_their_own_keys(tmp_path: Path) -> None:
    client = in_process(tmp_path)
    base = requests(1)[0]
    keys = {client.key(ChatRequest(**{**base.__dict__, "replicate": r})) for r in range(3)}
    assert len(keys) == 3


@pytest.mark.parametrize("damage", ["", "{", '{"response": {"text": "x"}, "digest": "0"}'])
def test_a_damaged_entry_is_dropped_and_paid_again(tmp_path: Path, damage: str) -> None:
    reply = in_process(tmp_path).ask(requests(1))[0]
    (entry,) = (tmp_path / "cache" / "calls").rglob("*.json")
    entry.write_text(damage)
    again = in_process(tmp_path).ask(requests(1))[0]
    assert again.outcome == reply.outcome
    assert not again.cached
    assert in_process(tmp_path).ask(requests(1))[0].cached


def test_a_cap_stops_before_the_call_beyond_it(tmp_path: Path) -> None:
    with pytest.raises(TrainingAborted, match=r"limits.max_calls: 2 of 2 are spent"):
        in_process(tmp_path, Caps(calls=2)).ask(requests(5))
    assert len(list((tmp_path / "cache" / "calls").rglob("*.json"))) == 2
    raised = in_process(tmp_path, Caps(calls=5)).ask(requests(5))
    assert sum(reply.cached for reply in raised) == 2


def over_http(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    faults: Sequence[Fault],
    *,
    key: str = KEY,
    n: int = 1,
    timeout: float = 20.0,
) -> tuple[list[object], list[dict[str, object]]]:
    monkeypatch.setenv("TEST_KEY", key)
    with serve(ServerConfig(world=WORLD, api_key=KEY, faults=tuple(faults))) as (url, _):
        model = ModelConfig(
            provider="openai",
            model=f"rehearsal-student@{World(WORLD).digest}",
            base_url=f"{url}/v1",
            api_key_env="TEST_KEY",
        )
        client = Client(
            OpenAIProvider(model, 2 * timeout),
            "student",
            CallCache(tmp_path / "cache"),
            Meter(tmp_path / "log", Caps(), "job"),
            slots=4,
            timeout=timeout,
            retries=2,
        )
        try:
            replies = client.ask(requests(n))
        finally:
            client.close()
    return [reply.outcome for reply in replies], log_lines(tmp_path)


def test_http_gives_what_the_world_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes, _ = over_http(tmp_path, monkeypatch, [], n=6)
    inside = [reply.outcome for reply in in_process(tmp_path / "other").ask(requests(6))]
    assert [o.text for o in outcomes] == [o.text for o in inside]  # type: ignore[attr-defined]


def test_a_wrong_key_stops_at_once_and_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EndpointError) as caught:
        over_http(tmp_path, monkeypatch, [], key="sk-wrong-91c2", n=5)
    assert "401" in str(caught.value)
    assert "sk-wrong" not in str(caught.value)
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or "sk-" not in path.read_text()


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}ü", f"{KEY}\x7f"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("TEST_KEY", key)
    with pytest.raises(EndpointError, match="TEST_KEY holds no key") as caught:
        OpenAIProvider(ModelConfig(provider="openai", model="m", api_key_env="TEST_KEY"), 1)
    assert KEY not in str(caught.value)


def test_a_missing_key_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(EndpointError, match="TEST_KEY is not set"):
        OpenAIProvider(ModelConfig(provider="openai", model="m", api_key_env="TEST_KEY"), 1)
