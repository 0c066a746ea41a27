"""Faults of an endpoint that the rehearsal server makes on demand."""

import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from email.utils import formatdate
from typing import Literal

from aiohttp import web
from pydantic import Field

from skillmake.artifacts import Artifact
from skillmake.llm.types import ChatResponse, Role
from skillmake.rehearsal.students import chance
from skillmake.rehearsal.wire import ApiError

HUGE = 2_000_000  # characters
HANG_S = 60.0
PAGE = "<!DOCTYPE html><html><head><title>Welcome</title></head><body>It works.</body></html>"
SERVER_ERROR = "The server had an error while processing your request."
# Status, message, kind and code of the refusals, as OpenAI words them
REFUSALS: dict[str, tuple[int, str, str, str | None]] = {
    "400": (400, "Unsupported parameter: this model does not support it.", "invalid_request_error", None),
    "401": (401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    "403": (403, "You are not allowed to sample from this model.", "invalid_request_error", None),
    "404": (404, "The model does not exist.", "invalid_request_error", "model_not_found"),
    "429": (429, "Rate limit reached.", "requests", "rate_limit_exceeded"),
    "quota": (429, "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
    "500": (500, SERVER_ERROR, "server_error", None),
    "503": (503, SERVER_ERROR, "server_error", None),
}
FaultKind = Literal[
    "400", "401", "403", "404", "429", "quota", "500", "503", "timeout", "reset", "cut", "bad_body", "page",
    "empty_choices", "content_filter", "length", "bad_json", "empty", "huge",
]  # fmt: skip


class Fault(Artifact):
    """A fault that hits the first `count` calls, or each call with probability `rate`."""

    kind: FaultKind
    rate: float = Field(0.0, ge=0, le=1, description="chance per request and try; with `count` not looked at")
    count: int | None = Field(None, ge=1, description="the next so many calls are hit, then no more")
    retry_after: float | None = Field(None, ge=0, description="seconds in the Retry-After header")
    clock_s: float | None = Field(
        None, description="how far the server's clock is ahead; Retry-After is then a date by it"
    )
    latency_s: float = Field(0.0, ge=0, description="seconds before it; 0 for `timeout` is 60")
    role: Role | None = Field(None, description="only calls of this model")

    @property
    def wait_s(self) -> float:
        return self.latency_s or (HANG_S if self.kind == "timeout" else 0.0)

    @property
    def headers(self) -> dict[str, str]:
        """Those that a refusal brings."""
        out = {}
        if self.clock_s is not None:
            out["Date"] = formatdate(time.time() + self.clock_s, usegmt=True)
        if self.retry_after is not None and self.clock_s is None:
            out["Retry-After"] = f"{self.retry_after:g}"
        elif self.retry_after is not None and self.clock_s is not None:
            out["Retry-After"] = formatdate(time.time() + self.clock_s + self.retry_after, usegmt=True)
        return out


class Injector:
    """Chooses the fault of each call."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._tries: Counter[str] = Counter()
        self.set(faults)

    def set(self, faults: Sequence[Fault]) -> None:
        """Replace all faults."""
        self._faults, self._left = tuple(faults), [fault.count for fault in faults]

    def next(self, key: str, role: Role) -> Fault | None:
        """The fault of the next try of the request with this key, if any."""
        # The draw counts the tries of one request and not calls, so it is the same in any order of calls
        self._tries[key] += 1
        for place, fault in enumerate(self._faults):
            left = self._left[place]
            if fault.role not in (None, role):
                continue
            if left is None and chance("fault", place, key, self._tries[key]) < fault.rate:
                return fault
            if left:
                self._left[place] = left - 1
                return fault
        return None


def instead(fault: Fault, request: web.Request) -> web.Response | None:
    """What is sent instead of an answer; None where the fault only spoils the answer."""
    if fault.kind in REFUSALS:
        status, message, kind, code = REFUSALS[fault.kind]
        return refusal(ApiError(status, message, kind, code), fault.headers)
    if fault.kind == "page":
        return web.Response(text=PAGE, content_type="text/html")
    return reset(request) if fault.kind == "reset" else None


def refusal(error: ApiError, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response(error.body, status=error.status, headers=headers)


def reset(request: web.Request) -> web.Response:
    """Cut the connection before any answer: the client sees a reset."""
    if request.transport is not None:
        raw: socket.socket = request.transport.get_extra_info("socket")
        # Lingering for no time makes the close a reset and not an orderly end
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    return web.Response()


def spoiled(reply: ChatResponse, kind: str) -> ChatResponse:
    """The answer as a fault leaves it; it stays whole for the faults of other layers."""
    half = reply.text[: len(reply.text) // 2]
    spoiled = {
        "content_filter": replace(reply, text="", finish="content_filter"),
        "length": replace(reply, text=half, finish="length"),
        "bad_json": replace(reply, text='{"broken": ' + half),
        "empty": replace(reply, text=""),
    }
    if kind == "huge":
        return replace(reply, text=json.dumps({"answer": "x" * HUGE}))
    return spoiled.get(kind, reply)
