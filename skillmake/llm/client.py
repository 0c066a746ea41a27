"""The one client: cache, retries, caps and the log around any provider."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_exponential_jitter

from skillmake.errors import EndpointError, SkillmakeError
from skillmake.llm.cache import CallCache, call_key
from skillmake.llm.cost import Meter, Price
from skillmake.llm.slots import Slots
from skillmake.llm.stop import Stop
from skillmake.llm.types import (
    CallError,
    CallFailure,
    ChatRequest,
    ChatResponse,
    Provider,
    Reply,
    Role,
)

LOOK_AGAIN = 0.005  # seconds


class Client:
    """Answers requests for one role.

    `name`: the model and its place, for messages. `slots`: calls in flight; `shared`: those of the whole run,
    which a call must have besides, unless it is cached. `timeout`: seconds of one try.
    `retries`: further tries after a failure that may pass, with waits that begin at `retry_wait` seconds,
    double, and end at `longest_wait`. What fails for good is a CallError and counts in `failed`. What can
    never work (wrong key, wrong model) raises EndpointError at once, and so do `give_up_after` calls in a row
    that failed in all their tries. Whatever stops a client, and be it a signal, the answers of calls in
    flight are awaited and kept.
    """

    def __init__(
        self,
        provider: Provider,
        role: Role,
        cache: CallCache,
        meter: Meter,
        *,
        name: str = "",
        price: Price | None = None,
        slots: int = 1,
        timeout: float = 120.0,
        retries: int = 5,
        retry_wait: float = 0.5,
        longest_wait: float = 60.0,
        give_up_after: int = 10,
        shared: Slots | None = None,
    ) -> None:
        self._provider, self._role, self._cache, self._meter = provider, role, cache, meter
        self._price = price or Price()
        self.name = name or role
        self.slots, self._timeout, self._retries = slots, timeout, retries
        self._retry_wait, self._longest_wait = retry_wait, longest_wait
        self._give_up_after, self._in_a_row = give_up_after, 0
        self._shared = shared
        self.failed = 0
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
        slots, stop, turn = asyncio.Semaphore(self.slots), Stop(), asyncio.Lock()
        keys = [self.key(request) for request in requests]
        first = dict(reversed(list(zip(keys, requests, strict=True))))
        replies: dict[str, Reply] = {}

        async def one(key: str, request: ChatRequest) -> None:
            async with slots:
                try:
                    stop.check()
                    replies[key] = await self._call(key, request, stop, turn)
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

    async def _call(self, key: str, request: ChatRequest, stop: Stop, turn: asyncio.Lock) -> Reply:
        started = time.monotonic()
        if (reply := self._look_up(key, started)) is not None:
            return reply
        async with self._cache.paying(key):
            # Another process may have paid it while we waited.
            if (reply := self._look_up(key, started)) is not None:
                return reply
            await self._provider.open()
            async with self._slot(stop, turn):
                return await self._pay(key, request, stop)

    @asynccontextmanager
    async def _slot(self, stop: Stop, turn: asyncio.Lock) -> AsyncIterator[None]:
        """One of the run's calls in flight; of the calls that wait for one, that whose `turn` it is looks."""
        if self._shared is None:
            yield
            return
        async with turn:
            while (slot := self._shared.take()) is None:
                stop.check()
                await asyncio.sleep(LOOK_AGAIN)
        try:
            yield
        finally:
            self._shared.give_back(slot)

    def _look_up(self, key: str, started: float) -> Reply | None:
        hit = self._cache.get(key)
        if hit is None:
            return None
        self._log(key, hit, started, cached=True, tries=0)
        return Reply(key, hit, cached=True)

    async def _pay(self, key: str, request: ChatRequest, stop: Stop) -> Reply:
        started, tries = time.monotonic(), 0
        with self._cache.room(key, request.max_tokens) as keep:
            try:
                async for attempt in self._attempts(stop):
                    with attempt:
                        tries += 1
                        stop.check()
                        self._meter.reserve()
                        response = await self._once(request)
            except CallFailure as failure:
                row = {"error": failure.reason}
                self._meter.log(self._role, key, cached=False, started=started, tries=tries, row=row)
                self._check_usable(failure, tries)
                self.failed += 1
                return Reply(key, CallError(failure.reason))
            keep(response)
        self._in_a_row = 0
        self._log(key, response, started, cached=False, tries=tries)
        self._meter.pay(response, self._price)
        return Reply(key, response)

    def _check_usable(self, failure: CallFailure, tries: int) -> None:
        """Raise EndpointError when it is no use to send other calls."""
        self._in_a_row += failure.retryable
        if failure.fatal:
            problem = f"{failure.reason} ({tries} tries)" if failure.retryable else failure.reason
        elif self._in_a_row >= self._give_up_after:
            problem = f"{self._in_a_row} calls in a row failed in all their tries: {failure.reason}"
        else:
            return
        hint = failure.hint or "what was answered is kept; repair the endpoint and run the same command again"
        raise EndpointError(
            f"{self._role} model {self.name}: {problem}", hint.replace("models.*", f"models.{self._role}")
        ) from None

    async def _once(self, request: ChatRequest) -> ChatResponse:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._provider.complete(request)
        except TimeoutError:
            raise CallFailure(f"no answer within {self._timeout:g} s", retryable=True) from None

    def _attempts(self, stop: Stop) -> AsyncRetrying:
        # The jitter keeps calls that failed together from coming back together
        backoff = wait_exponential_jitter(multiplier=self._retry_wait, jitter=self._retry_wait)

        def wait(state: RetryCallState) -> float:
            failure = state.outcome.exception() if state.outcome else None
            asked = failure.retry_after if isinstance(failure, CallFailure) else None
            return min(max(asked or 0.0, backoff(state)), self._longest_wait)

        return AsyncRetrying(
            retry=retry_if_exception(lambda e: isinstance(e, CallFailure) and e.retryable),
            stop=lambda state: stop.is_set or state.attempt_number > self._retries,
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
