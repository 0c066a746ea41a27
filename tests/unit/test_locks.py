"""Locks between processes, and the count that all jobs of a run keep together."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from skillmake.llm.cost import Caps, Meter, Price, Spent
from skillmake.llm.types import ChatResponse
from skillmake.locks import locked, locked_async

PAYS = """
import sys
from pathlib import Path
from skillmake.llm.cost import Caps, Meter, Price
from skillmake.llm.types import ChatResponse
meter = Meter(Path(sys.argv[1]), Caps(), sys.argv[2])
for _ in range(50):
    meter.reserve()
    meter.pay(ChatResponse("", prompt_tokens=2, completion_tokens=1), Price())
"""


def test_no_count_of_several_processes_is_lost(tmp_path: Path) -> None:
    jobs = [subprocess.Popen([sys.executable, "-c", PAYS, str(tmp_path), f"j{k}"]) for k in range(2)]
    assert [job.wait() for job in jobs] == [0, 0]
    spent = Spent.read(tmp_path)
    assert (spent.calls, spent.tokens) == (100, 300)


def test_a_count_that_gets_shorter_is_padded(tmp_path: Path) -> None:
    """What a killed process leaves is the old text or the new one, and no mixture."""
    path = tmp_path / "spent.json"
    path.write_text(json.dumps({"calls": 1, "sessions": {"1.0": 2.0, "3.0": 4.0}}, indent=40))
    size = path.stat().st_size
    Meter(tmp_path, Caps(), "j").pay(ChatResponse("", prompt_tokens=5), Price())
    assert path.stat().st_size == size
    assert (Spent.read(tmp_path).calls, Spent.read(tmp_path).tokens) == (1, 5)


def test_a_task_that_waits_lets_others_run_and_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    seen = []

    async def second() -> None:
        async with locked_async(tmp_path / "lock"):
            seen.append("second")

    async def main() -> None:
        with locked(tmp_path / "lock"):
            waiting = asyncio.create_task(second())
            dropped = asyncio.create_task(second())
            await asyncio.sleep(0.05)
            dropped.cancel()
            seen.append("first")
        await waiting
        await asyncio.gather(dropped, return_exceptions=True)

    asyncio.run(main())
    assert seen == ["first", "second"]
    with locked(tmp_path / "lock"):  # the cancelled task has not kept it
        pass
