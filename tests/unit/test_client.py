"""The client: cache, retries, caps, errors as a third value; against the real rehearsal world and server."""

import json
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from skillmake.config.endpoints import ModelConfig
from skillmake.errors import EndpointError, StorageError, TrainingAborted
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter, Price, Spent
from skillmake.llm.openai_provider import OpenAIProvider, without_key
from skillmake.llm.types import ChatRequest
from skillmake.rehearsal.faults import Fault
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World, WorldConfig
from skillmake.workspace import STARTED

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


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "calls").rglob("*.json"))


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
def test_a_damaged_entry_is_told_dropped_and_paid_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    reply = in_process(tmp_path).ask(requests(1))[0]
    (entry,) = entries(tmp_path)
    entry.write_text(damage)
    again = in_process(tmp_path).ask(requests(1))[0]
    assert capsys.readouterr().out == f"{entry}: this answer was damaged; it is asked for again\n"
    assert again.outcome == reply.outcome
    assert not again.cached
    assert in_process(tmp_path).ask(requests(1))[0].cached


def test_a_cap_stops_before_the_call_beyond_it(tmp_path: Path) -> None:
    with pytest.raises(TrainingAborted, match=r"limits.max_calls: 2 of 2 are spent"):
        in_process(tmp_path, Caps(calls=2)).ask(requests(5))
    assert len(entries(tmp_path)) == 2
    raised = in_process(tmp_path, Caps(calls=5)).ask(requests(5))
    assert sum(reply.cached for reply in raised) == 2


@pytest.mark.parametrize(("caps", "named"), [(Caps(tokens=1), "tokens"), (Caps(cost=0.5), "cost")])
def test_tokens_and_money_stop_after_the_call_that_passes_the_cap(
    tmp_path: Path, caps: Caps, named: str
) -> None:
    client = in_process(tmp_path, caps)
    client.ask(requests(1))
    with pytest.raises(TrainingAborted, match=rf"limits.max_{named}: \d+ of (1|0.5) are spent"):
        client.ask(requests(2))
    assert Spent.read(tmp_path / "log").calls == 1


def test_the_seconds_of_a_run_are_those_of_all_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, ago in enumerate((40, 30)):
        monkeypatch.setenv(STARTED, repr(time.time() - ago))
        in_process(tmp_path, Caps(seconds=100)).ask(requests(place + 1))
    spent = Spent.read(tmp_path / "log")
    assert sorted(round(seconds, -1) for seconds in spent.sessions.values()) == [30, 40]
    assert in_process(tmp_path, Caps(seconds=60)).ask(requests(2))[0].cached  # a lookup takes no time
    with pytest.raises(TrainingAborted, match=r"limits.max_seconds: 7\d(\.\d+)? of 60 are spent"):
        in_process(tmp_path, Caps(seconds=60)).ask(requests(3))
    assert Spent.read(tmp_path / "log").calls == 2
    assert str(Spent(1200, 34567, 1.5, {"1.0": 59.6})) == "1,200 calls, 34,567 tokens, 1.50 money, 60 s"


def test_a_damaged_count_is_told_and_begins_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_process(tmp_path).ask(requests(2))
    (tmp_path / "log" / "spent.json").write_text('{"calls": ')
    in_process(tmp_path).ask(requests(3))
    assert "spent.json: damaged" in capsys.readouterr().out
    assert Spent.read(tmp_path / "log").calls == 1


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Stands in for a full disk: a write beyond the size of a file fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_no_call_is_paid_without_room_for_its_answer(tmp_path: Path) -> None:
    with files_of_at_most(1000), pytest.raises(StorageError, match=r"cannot be written: File too large"):
        in_process(tmp_path).ask(requests(2))
    assert Spent.read(tmp_path / "log").calls == 0
    assert not any((tmp_path / "cache" / "calls").rglob("*.*"))
    in_process(tmp_path).ask(requests(2))
    assert len(entries(tmp_path)) == Spent.read(tmp_path / "log").calls == 2


def test_a_full_disk_leaves_no_half_line_in_the_log(tmp_path: Path) -> None:
    in_process(tmp_path).ask(requests(1))
    log = tmp_path / "log" / "calls" / "job.jsonl"
    with files_of_at_most(log.stat().st_size + 20), pytest.raises(StorageError, match=r"job\.jsonl"):
        in_process(tmp_path).ask(requests(1))
    in_process(tmp_path).ask(requests(1))
    assert [row["cached"] for row in log_lines(tmp_path)] == [False, True]


def over_http(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    faults: Sequence[Fault],
    *,
    key: str = KEY,
    n: int = 1,
    timeout: float = 20.0,
    latency_s: float = 0.0,
    caps: Caps | None = None,
    during: Callable[[str], None] | None = None,
) -> tuple[list[object], list[dict[str, object]]]:
    monkeypatch.setenv("TEST_KEY", key)
    config = ServerConfig(world=WORLD, api_key=KEY, faults=tuple(faults), latency_s=latency_s)
    with serve(config) as (url, _):
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
            Meter(tmp_path / "log", caps or Caps(), "job"),
            slots=4,
            timeout=timeout,
            retries=2,
        )
        if during:
            threading.Thread(target=during, args=(url,)).start()
        try:
            replies = client.ask(requests(n))
        finally:
            client.close()
    return [reply.outcome for reply in replies], log_lines(tmp_path)


def test_http_gives_what_the_world_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes, _ = over_http(tmp_path, monkeypatch, [], n=6)
    inside = [reply.outcome for reply in in_process(tmp_path / "other").ask(requests(6))]
    assert [o.text for o in outcomes] == [o.text for o in inside]  # type: ignore[attr-defined]


@pytest.mark.parametrize("caps", [Caps(calls=3), Caps(tokens=1)])
def test_calls_in_flight_at_a_cap_are_kept_and_no_other_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caps: Caps
) -> None:
    in_flight = caps.calls or 4
    with pytest.raises(TrainingAborted, match=r"limits\.max_(calls|tokens)"):
        over_http(tmp_path, monkeypatch, [], n=6, latency_s=0.3, caps=caps)
    assert len(entries(tmp_path)) == Spent.read(tmp_path / "log").calls == in_flight


def test_calls_in_flight_at_a_signal_are_kept_and_no_other_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unexpected(*_: Any) -> None:
        pytest.fail("the client left the signal to others")

    def end_when_four_are_in_flight(url: str) -> None:
        while json.load(urlopen(f"{url}/stats"))["calls"] < 4:
            time.sleep(0.02)
        for _ in range(3):  # as at the death of a parent with threads
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, unexpected)
    try:
        with pytest.raises(TrainingAborted, match="stopped by a signal"):
            over_http(tmp_path, monkeypatch, [], n=6, latency_s=1.0, during=end_when_four_are_in_flight)
        assert signal.getsignal(signal.SIGTERM) is unexpected
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(entries(tmp_path)) == Spent.read(tmp_path / "log").calls == 4


def test_a_stop_does_not_wait_for_the_next_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold = Fault.model_validate({"kind": "429", "count": 1, "retry_after": 50})
    with pytest.raises(TrainingAborted, match=r"limits\.max_calls"):
        over_http(tmp_path, monkeypatch, [hold], n=4, caps=Caps(calls=3))
    assert len(entries(tmp_path)) == 2


def test_a_key_is_not_told_whole_or_masked() -> None:
    told = "Incorrect API key provided: sk-cana****7f1b. See https://example.org."
    assert without_key(told, KEY) == "Incorrect API key provided: … See https://example.org."
    assert KEY not in without_key(f'{{"authorization": "Bearer {KEY}"}}', KEY)
    assert without_key("no such model", KEY) == "no such model"


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
