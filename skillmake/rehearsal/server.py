"""The rehearsal world over HTTP: an endpoint that speaks the OpenAI API, with faults on demand (DESIGN §3).

Answers are pure functions of world and request; only injected faults depend on what was called before.
"""

import argparse
import asyncio
import hmac
import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import get_args

from aiohttp import web
from pydantic import Field, TypeAdapter, ValidationError

from skillmake.artifacts import Artifact, read_model
from skillmake.errors import ConfigError, SkillmakeError
from skillmake.llm.types import Role
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.faults import REFUSALS, Fault, Injector, instead, refusal, spoiled
from skillmake.rehearsal.features import Feature, Lack, understood
from skillmake.rehearsal.wire import ApiError, ChatBody, completion, events, parsed, wire_reply
from skillmake.rehearsal.world import World

LARGEST_REQUEST = 64 * 2**20


class ServerConfig(Artifact):
    """What a rehearsal server serves."""

    world: WorldConfig = Field(default_factory=WorldConfig)
    api_key: str = Field("", description="key that calls must bring; empty: none", repr=False)
    latency_s: float = Field(0.0, ge=0, description="seconds that each call takes")
    faults: tuple[Fault, ...] = ()
    lacks: dict[Feature, Lack] = Field({}, description="what of the API it refuses (HTTP 400) or ignores")


class Server:
    """The handlers, with the state that faults and statistics need."""

    def __init__(self, config: ServerConfig) -> None:
        self._config, self._world = config, World(config.world)
        self._injector = Injector(config.faults)
        self._counts: Counter[str] = Counter()
        self._paid: Counter[str] = Counter()
        self._in_flight = self._most_in_flight = 0

    def app(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(client_max_size=LARGEST_REQUEST)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/health", self._health)
        app.router.add_get("/stats", self._stats)
        app.router.add_post("/faults", self._post_faults)
        return app

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "world": self._world.digest})

    async def _stats(self, _: web.Request) -> web.Response:
        """`keys_paid`: different requests answered; `paid_again`: answers to a request answered before."""
        return web.json_response(
            {
                "calls": self._counts.total(),
                "kinds": dict(sorted(self._counts.items())),
                "max_in_flight": self._most_in_flight,
                "keys_paid": len(self._paid),
                "paid_again": self._paid.total() - len(self._paid),
            }
        )

    async def _post_faults(self, request: web.Request) -> web.Response:
        """Replace all faults by those of the body, a JSON list."""
        try:
            faults = TypeAdapter(tuple[Fault, ...]).validate_json(await request.read())
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False, include_context=False)
            return web.json_response({"error": problems}, status=400)
        self._injector.set(faults)
        return web.json_response({"faults": len(faults)})

    async def _models(self, request: web.Request) -> web.Response:
        try:
            self._authorize(request)
        except ApiError as problem:
            return refusal(problem)
        names = [f"rehearsal-{role}@{self._world.digest}" for role in get_args(Role)]
        rows = [{"id": name, "object": "model", "created": 0, "owned_by": "skillmake"} for name in names]
        return web.json_response({"object": "list", "data": rows})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)
        try:
            self._authorize(request)
            body = understood(parsed(await request.read()), self._config.lacks)
            role = self._role(body.model)
            fault = self._injector.next(body.key, role)
            self._counts[fault.kind if fault else "ok"] += 1
            await asyncio.sleep(self._config.latency_s + (fault.wait_s if fault else 0.0))
            return await self._answer(request, body, role, fault)
        except ApiError as problem:
            self._counts[str(problem.status)] += 1
            return refusal(problem)
        finally:
            self._in_flight -= 1

    async def _answer(
        self, request: web.Request, body: ChatBody, role: Role, fault: Fault | None
    ) -> web.StreamResponse:
        kind = fault.kind if fault else ""
        if fault and (response := instead(fault, request)) is not None:
            return response
        reply = spoiled(wire_reply(self._world, role, body), kind)
        has_choices = kind != "empty_choices"
        if body.stream:
            parts, content_type = list(events(body, reply, has_choices)), "text/event-stream"
        else:
            parts, content_type = [json.dumps(completion(body, reply, has_choices))], "application/json"
        if kind == "bad_body":
            parts = ["data: {broken\n\n" if body.stream else parts[0][: len(parts[0]) // 2]]
        if kind not in ("cut", "bad_body"):
            self._paid[body.key] += 1
        return await _send(request, parts, content_type, cut=kind == "cut")

    def _authorize(self, request: web.Request) -> None:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self._config.api_key and not hmac.compare_digest(given.encode(), self._config.api_key.encode()):
            # Some endpoints repeat the key, which must get no further than to the client
            status, message, kind, code = REFUSALS["401"]
            raise ApiError(status, f"{message.rstrip('.')}: {given}.", kind, code)

    def _role(self, model: str) -> Role:
        name, _, world = model.partition("@")
        for role in get_args(Role):
            if name == f"rehearsal-{role}" and world in ("", self._world.digest):
                found: Role = role
                return found
        message = f"The model `{model}` does not exist or you do not have access to it."
        raise ApiError(404, message, "invalid_request_error", "model_not_found")


async def _send(
    request: web.Request, parts: Sequence[str], content_type: str, cut: bool
) -> web.StreamResponse:
    """Send the parts; `cut` sends half of them (half of an only part) and closes the connection."""
    response = web.StreamResponse(headers={"Content-Type": content_type})
    if len(parts) == 1:
        response.content_length = len(parts[0].encode())
    await response.prepare(request)
    if cut:
        parts = parts[: len(parts) // 2] or [parts[0][: len(parts[0]) // 2]]
    for part in parts:
        await response.write(part.encode())
    if cut and request.transport is not None:
        request.transport.close()
    else:
        await response.write_eof()
    return response


async def run(
    config: ServerConfig, host: str, port: int, ready: Callable[[str], None], stop: asyncio.Event
) -> None:
    """Serve until `stop` is set; `ready` gets the URL once calls are taken. Port 0 takes a free one.

    Raises ConfigError when the address cannot be used.
    """
    runner = web.AppRunner(
        Server(config).app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.2
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        ready(f"http://{host}:{runner.addresses[0][1]}")
        await stop.wait()
    except OSError as error:
        raise ConfigError(f"{host}:{port}: cannot serve there: {error.strerror}", "use --port 0") from None
    finally:
        await runner.cleanup()


@contextmanager
def serve(
    config: ServerConfig, host: str = "127.0.0.1", port: int = 0
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Serve in a background thread; gives the URL (without `/v1`) and a function that stops it early."""
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    url: Future[str] = Future()

    def work() -> None:
        try:
            loop.run_until_complete(run(config, host, port, url.set_result, stop))
        except Exception as error:
            # Whatever it is, the caller must hear of it and not wait for the URL
            if url.done():
                raise
            url.set_exception(error)

    thread = threading.Thread(target=work, name="rehearsal", daemon=True)

    def end() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)
            thread.join()
            loop.close()

    thread.start()
    try:
        yield url.result(), end
    finally:
        end()


async def _serve_until_signal(config: ServerConfig, host: str, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await run(config, host, port, lambda url: print(f"{url}/v1", flush=True), stop)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted; prints the base URL that goes into `models.*.base_url`."""
    parser = argparse.ArgumentParser(prog="python -m skillmake.rehearsal.server", description=__doc__)
    parser.add_argument("--world", help="JSON file of the `rehearsal` section of params.yaml")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that each call takes")
    parser.add_argument("--api-key-env", help="environment variable with the key that calls must bring")
    given = parser.parse_args(arguments)
    try:
        world = read_model(given.world, WorldConfig) if given.world else WorldConfig()
        key = os.environ.get(given.api_key_env or "", "")
        if given.api_key_env and not key:
            raise ConfigError(f"environment variable {given.api_key_env} is not set")
        config = ServerConfig(world=world, api_key=key, latency_s=given.latency)
        asyncio.run(_serve_until_signal(config, given.host, given.port))
    except SkillmakeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
