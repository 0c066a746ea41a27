"""The one client: cache, retries, caps and the log around any provider."""

import asyncio
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_exponential_jitter

from skillmake.errors import EndpointError, SkillmakeError, TrainingAborted
from skillmake.llm.cache import CallCache, call_key
from skillmake.llm.cost import Meter, Price
from skillmake.llm.types import (
    CallError,
    CallFailure,
    ChatRequest,
    ChatResponse,
    Provider,
    Reply,
    Role,
)

LONGEST_WAIT = 60.0
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Stop:
    """Whether new calls may begin: `problem` says why not. Calls in flight go on, since they are paid for."""

    def __init__(self) -> None:
        self.problem: SkillmakeError | None = None
        self._set = asyncio.Event()

    def now(self, problem: SkillmakeError) -> None:
        self.problem = self.problem or problem
        self._set.set()

    def check(self) -> None:
        """Raise the problem, if there is one."""
        if self.problem is not None:
            raise self.problem

    async def sleep(self, seconds: float) -> None:
        """Wait, but not beyond a stop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._set.wait(), seconds)

    @contextmanager
    def on_signal(self) -> Iterator[None]:
        """Stop at the first signal that ends a process; a second one has its usual effect."""
        loop = asyncio.get_running_loop()
        before = {} if threading.current_thread() is not threading.main_thread() else _handlers()

        def stop() -> None:
            release()
            self.now(TrainingAborted("stopped by a signal", "the same command continues where it stopped"))

        def release() -> None:
            while before:
                number, handler = before.popitem()
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

        for number in before:
            loop.add_signal_handler(number, stop)
        try:
            yield
        finally:
            release()


def _handlers() -> dict[signal.Signals, Any]:
    """What each signal does that would end this process; one that is ignored (nohup) stays so."""
    found = {number: signal.getsignal(number) for number in ENDING}
    return {number: handler for number, handler in found.items() if handler is not signal.SIG_IGN}


class Client:
    """Answers requests for one role.

    `slots`: calls in flight. `timeout`: seconds of one try. `retries`: further tries after a
    failure that may pass. What fails for good is a CallError; what can never work (wrong key,
    wrong model) raises EndpointError at once.
    """

    def __init__(
        self,
        provider: Provider,
        role: Role,
        cache: CallCache,
        meter: Meter,
        *,
        price: Price | None = None,
        slots: int = 1,
        timeout: float = 120.0,
        retries: int = 5,
    ) -> None:
        self._provider, self._role, self._cache, self._meter = provider, role, cache, meter
        self._price = price or Price()
        self.slots, self._timeout, self._retries = slots, timeout, retries
        self._runner: asyncio.Runner | None = None

    def key(self, request: ChatRequest) -> str:
        return call_key(self._provider.identity, request)

    def ask(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Answers in the order of the requests, at most `slots` in flight; equal requests are one call."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(self._ask(requests))

    def close(self) -> None:
        if self._runner is not None:
            self._runner.run(self._provider.close())
            self._runner.close()
            self._runner = None

    async def _ask(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        slots, stop = asyncio.Semaphore(self.slots), _Stop()
        keys = [self.key(request) for request in requests]
        first = dict(reversed(list(zip(keys, requests, strict=True))))
        replies: dict[str, Reply] = {}

        async def one(key: str, request: ChatRequest) -> None:
            async with slots:
                try:
                    stop.check()
                    replies[key] = await self._call(key, request, stop)
                except SkillmakeError as problem:
                    stop.now(problem)

        with stop.on_signal():
            try:
                async with asyncio.TaskGroup() as group:
                    for key in dict.fromkeys(keys):
                        group.create_task(one(key, first[key]))
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
        stop.check()
        return [replies[key] for key in keys]

    async def _call(self, key: str, request: ChatRequest, stop: _Stop) -> Reply:
        started = time.time()
        if (reply := self._look_up(key, started)) is not None:
            return reply
        async with self._cache.paying(key):
            # Another process may have paid it while we waited.
            return self._look_up(key, started) or await self._pay(key, request, started, stop)

    def _look_up(self, key: str, started: float) -> Reply | None:
        hit = self._cache.get(key)
        if hit is None:
            return None
        self._log(key, hit, started, cached=True, tries=0)
        return Reply(key, hit, cached=True)

    async def _pay(self, key: str, request: ChatRequest, started: float, stop: _Stop) -> Reply:
        tries = 0
        with self._cache.room(key, request.max_tokens) as keep:
            try:
                async for attempt in self._attempts(stop):
                    with attempt:
                        tries += 1
                        stop.check()
                        self._meter.reserve()
                        response = await self._once(request)
            except CallFailure as failure:
                if failure.fatal:
                    raise EndpointError(
                        f"{self._role} model: {failure.reason}", "see `models` in params.yaml"
                    ) from None
                self._meter.log(
                    self._role, key, cached=False, started=started, tries=tries, row={"error": failure.reason}
                )
                return Reply(key, CallError(failure.reason))
            keep(response)
        self._log(key, response, started, cached=False, tries=tries)
        self._meter.pay(response, self._price)
        return Reply(key, response)

    async def _once(self, request: ChatRequest) -> ChatResponse:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._provider.complete(request)
        except TimeoutError:
            raise CallFailure(f"no answer within {self._timeout:g} s", retryable=True) from None

    def _attempts(self, stop: _Stop) -> AsyncRetrying:
        backoff = wait_exponential_jitter(multiplier=0.5, max=LONGEST_WAIT)

        def wait(state: RetryCallState) -> float:
            failure = state.outcome.exception() if state.outcome else None
            asked = failure.retry_after if isinstance(failure, CallFailure) else None
            return min(asked, LONGEST_WAIT) if asked is not None else backoff(state)

        return AsyncRetrying(
            retry=retry_if_exception(lambda e: isinstance(e, CallFailure) and e.retryable),
            stop=lambda state: stop.problem is not None or state.attempt_number > self._retries,
            wait=wait,
            sleep=stop.sleep,
            reraise=True,
        )

    def _log(self, key: str, response: ChatResponse, started: float, *, cached: bool, tries: int) -> None:
        usage = {
            "prompt_tokens": response.prompt_tokens,
            "completion_tokens": response.completion_tokens,
            "cost": 0.0 if cached else self._price.of(response),
        }
        self._meter.log(self._role, key, cached=cached, started=started, tries=tries, row=usage)
