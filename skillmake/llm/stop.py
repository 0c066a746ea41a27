"""Why no new call may begin: an error, a cap, a signal. Calls in flight go on, since they are paid for."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from skillmake.errors import SkillmakeError, TrainingAborted

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """For the calls of one set of requests; made in the event loop that runs them."""

    def __init__(self) -> None:
        self._problem: SkillmakeError | None = None
        self._set = asyncio.Event()

    @property
    def is_set(self) -> bool:
        return self._problem is not None

    def now(self, problem: SkillmakeError) -> None:
        """Let no new call begin; the first problem is the one that is told."""
        self._problem = self._problem or problem
        self._set.set()

    def check(self) -> None:
        """Raise the problem, if there is one."""
        if self._problem is not None:
            raise self._problem

    async def sleep(self, seconds: float) -> None:
        """Wait, but not beyond a stop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._set.wait(), seconds)

    @contextmanager
    def on_signal(self) -> Iterator[None]:
        """Stop at a signal that would end this process; a second SIGINT has its usual effect.

        The others may come several times: at the death of Snakemake one for each of its threads.
        """
        loop = asyncio.get_running_loop()
        before = _handlers() if threading.current_thread() is threading.main_thread() else {}

        def release(number: signal.Signals) -> None:
            if number in before:
                loop.remove_signal_handler(number)
                signal.signal(number, before.pop(number))

        def stop(number: signal.Signals) -> None:
            if number == signal.SIGINT:
                release(number)
            self.now(TrainingAborted("stopped by a signal", "the same command continues where it stopped"))

        for number in before:
            loop.add_signal_handler(number, stop, number)
        try:
            yield
        finally:
            for number in list(before):
                release(number)


def _handlers() -> dict[signal.Signals, Any]:
    """What each signal does that would end this process; one that is ignored (nohup) stays so."""
    found = {number: signal.getsignal(number) for number in ENDING}
    return {number: handler for number, handler in found.items() if handler is not signal.SIG_IGN}
