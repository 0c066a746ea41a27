"""Any endpoint that speaks the OpenAI API. What a fault becomes is listed in docs/faults.md."""

import json
import os
import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from skillmake.config.endpoints import ModelConfig
from skillmake.errors import EndpointError
from skillmake.llm.completion import is_web_page, read_completion, refused
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse

LARGEST_ANSWER = 1_000_000
LONGEST_CONNECT = 10.0
SHORTEST_SECRET = 8  # characters; a shorter key is a placeholder like EMPTY


class OpenAIProvider:
    """Answers through `openai.AsyncOpenAI`; the key comes from the environment only.

    `timeout`: seconds without a byte; `answer_bytes`: an answer with more is not read to its end.
    """

    def __init__(self, config: ModelConfig, timeout: float, answer_bytes: int = LARGEST_ANSWER) -> None:
        key = os.environ.get(config.api_key_env)
        if not key and config.base_url is None:
            raise EndpointError(
                f"environment variable {config.api_key_env} is not set",
                f"export {config.api_key_env}=… or set models.*.base_url to an endpoint that needs no key",
            )
        if key and not (key.isascii() and key.isprintable() and key == key.strip()):
            # Such a key cannot be sent, and the refusal would quote it
            raise EndpointError(
                f"environment variable {config.api_key_env} holds no key: white space, control characters or "
                "letters outside of ASCII",
                f"export {config.api_key_env}=… again, without a line feed at its end",
            )
        self._config, self._key, self._timeout, self._most = config, key or "unused", timeout, answer_bytes
        self._client: Any = None
        self._takes_schemas = True

    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "openai", "model": self._config.model}

    async def open(self) -> None:
        if self._client is None:
            import openai  # half a second of work, which answers from the cache do not need

            patience = openai.Timeout(self._timeout, connect=min(self._timeout, LONGEST_CONNECT))
            self._client = openai.AsyncOpenAI(
                api_key=self._key, base_url=self._config.base_url, max_retries=0, timeout=patience
            )

    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            answer = read_completion(await self._send_or_less(request))
        except CallFailure as failure:
            failure.reason = without_key(failure.reason, self._key)
            raise
        return replace(answer, text=_chosen(answer.text)) if request.choices else answer

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _send_or_less(self, request: ChatRequest) -> bytes:
        """The body of the answer. Prompts of teacher and judges say themselves which JSON is wanted, so an
        endpoint that refuses schemas is asked without; what a student does then, `agent.constrained` says."""
        plain = replace(request, schema=None)
        if request.schema is None or not self._takes_schemas:
            return await self._send(plain)
        try:
            return await self._send(request)
        except CallFailure as failure:
            if not failure.asks_too_much:
                raise
        body = await self._send(plain)
        self._takes_schemas = False
        return body

    async def _send(self, request: ChatRequest) -> bytes:
        """The body of the answer; every way to fail becomes a CallFailure."""
        import openai

        create = self._client.chat.completions.with_streaming_response.create
        try:
            async with create(**self._arguments(request)) as response:
                return await self._body(response)
        except openai.APIStatusError as error:
            raise refused(error.status_code, error.body, error.response.headers, self._config) from None
        except openai.APIConnectionError as error:
            raise _unconnected(error) from None

    async def _body(self, response: Any) -> bytes:
        if is_web_page(response.headers):
            raise refused(response.status_code, None, response.headers, self._config)
        body = bytearray()
        try:
            async for part in response.iter_bytes():
                body += part
                if len(body) > self._most:
                    break
        except Exception as error:  # of whichever HTTP library openai uses: the rest will not come
            raise CallFailure(f"the answer broke off ({type(error).__name__})", retryable=True) from None
        if len(body) > self._most:
            raise CallFailure(f"the answer is longer than limits.answer_bytes, {self._most}")
        return bytes(body)

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        out: dict[str, Any] = {
            "model": self._config.model,
            "messages": list(request.messages),
            "temperature": request.temperature,
            "max_completion_tokens": request.max_tokens,
        }
        schema = choice_schema(request.choices) if request.choices else request.schema
        if schema:
            out["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        if request.tools:
            out["tools"] = list(request.tools)
        if request.temperature > 0:
            out["seed"] = request.replicate
        return out


def address(config: ModelConfig) -> str:
    """Where the endpoint is, without what an address may hold of secrets."""
    parts = urlsplit(config.base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def without_key(text: str, key: str) -> str:
    """A message without the key, which some endpoints repeat in it, whole or with its middle masked."""
    return text if len(key) < SHORTEST_SECRET else re.sub(re.escape(key[:6]) + r"\S*", "…", text)


def choice_schema(choices: tuple[str, ...]) -> dict[str, Any]:
    """JSON schema of `{"answer": one of the choices}`."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(choices)}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def _chosen(text: str) -> str:
    """The option in `{"answer": …}`; an endpoint that ignores the schema answers in free text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return str(value["answer"]) if isinstance(value, dict) and "answer" in value else text


def _unconnected(error: Any) -> CallFailure:
    cause = error.__cause__ or error
    said = str(cause) or type(cause).__name__
    # Nobody may be there for a moment; who is never there cannot be used
    if type(cause).__name__ in ("ConnectError", "ConnectTimeout"):
        hint = "start the endpoint, or correct models.*.base_url"
        return CallFailure(f"no connection: {said}", retryable=True, fatal=True, hint=hint)
    return CallFailure(f"the connection broke: {said}", retryable=True)
