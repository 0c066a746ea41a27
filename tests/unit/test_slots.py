"""Calls in flight of a whole run: shared between processes, and given back by those that die."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skillmake.errors import TrainingAborted
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.slots import Slots, slots_at
from skillmake.llm.types import ChatRequest, ChatResponse, Provider

TAKES = """
import sys
from pathlib import Path
from skillmake.llm.slots import Slots
slots = Slots(Path(sys.argv[1]), 3)
print(slots.take() is not None and slots.take() is not None, flush=True)
sys.stdin.read()
"""


class Counting(Provider):
    """Answers after a moment and counts how many calls are under way; `stops`: raises at that call."""

    identity: dict[str, Any] = {"provider": "counting"}  # noqa: RUF012 - a constant

    def __init__(self, stops: int = -1) -> None:
        self.now = self.most = self.calls = 0
        self.stops = stops

    async def complete(self, _: ChatRequest) -> ChatResponse:
        self.calls += 1
        if self.calls == self.stops:
            raise TrainingAborted("enough")
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02)
        self.now -= 1
        return ChatResponse("yes")

    async def close(self) -> None:
        return None


def ask(provider: Counting, slots: Slots, root: Path, n: int) -> None:
    meter = Meter(root / "log", Caps(), "j")
    client = Client(provider, "student", CallCache(root / "cache"), meter, slots=8, shared=slots)
    try:
        client.ask([ChatRequest(messages=({"role": "user", "content": str(k)},)) for k in range(n)])
    finally:
        client.close()


def test_the_slots_of_another_process_are_free_when_it_is_dead(tmp_path: Path) -> None:
    slots = Slots(tmp_path / "slots", 3)
    other = subprocess.Popen(
        [sys.executable, "-c", TAKES, str(tmp_path / "slots")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "True\n"
    mine = slots.take()
    assert mine is not None
    assert slots.take() is None
    other.kill()
    other.communicate()
    assert {slots.take(), slots.take(), mine} == {0, 1, 2}
    slots.give_back(mine)
    assert slots.take() == mine


def test_calls_wait_for_a_slot_and_cached_ones_do_not(tmp_path: Path) -> None:
    slots, provider = Slots(tmp_path / "slots", 3), Counting()
    ask(provider, slots, tmp_path, 12)
    assert (provider.calls, provider.most) == (12, 3)
    taken = [slots.take() for _ in range(3)]
    assert None not in taken
    ask(provider, slots, tmp_path, 12)  # else it would wait for ever
    assert provider.calls == 12


def test_a_call_takes_no_slot_before_its_provider_is_open(tmp_path: Path) -> None:
    slots, free = Slots(tmp_path / "slots", 1), []

    class Slow(Counting):
        async def open(self) -> None:
            if (slot := slots.take()) is not None:
                slots.give_back(slot)
            free.append(slot is not None)

    ask(Slow(), slots, tmp_path, 1)
    assert free == [True]


def test_after_a_stop_no_slot_is_kept_and_no_call_waits_on(tmp_path: Path) -> None:
    slots = Slots(tmp_path / "slots", 2)
    with pytest.raises(TrainingAborted, match="enough"):
        ask(Counting(stops=3), slots, tmp_path, 9)
    assert None not in (slots.take(), slots.take())


def test_a_process_has_one_object_per_file(tmp_path: Path) -> None:
    assert slots_at(tmp_path / "slots", 2) is slots_at(tmp_path / "slots", 2)
