"""Any endpoint that speaks the OpenAI API."""

import json
import os
import re
from typing import Any

from skillmake.config.endpoints import ModelConfig
from skillmake.errors import EndpointError
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse


class OpenAIProvider:
    """Answers through `openai.AsyncOpenAI`; the key comes from the environment only."""

    def __init__(self, config: ModelConfig, timeout: float) -> None:
        key = os.environ.get(config.api_key_env)
        if not key and config.base_url is None:
            raise EndpointError(
                f"environment variable {config.api_key_env} is not set",
                f"export {config.api_key_env}=… or set models.*.base_url to an endpoint that needs no key",
            )
        self._config, self._key, self._timeout = config, key or "unused", timeout
        self._client: Any = None

    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "openai", "model": self._config.model}

    async def complete(self, request: ChatRequest) -> ChatResponse:
        import openai

        if self._client is None:
            self._client = openai.AsyncOpenAI(
                api_key=self._key, base_url=self._config.base_url, max_retries=0, timeout=self._timeout
            )
        try:
            answer = await self._client.chat.completions.create(**self._arguments(request))
        except openai.APIStatusError as error:
            raise _failure(error, self._key) from None
        except openai.APIConnectionError as error:
            told = without_key(str(error.__cause__ or error), self._key)
            raise CallFailure(f"{type(error).__name__}: {told}", retryable=True) from None
        except (openai.APIError, json.JSONDecodeError) as error:
            raise CallFailure(f"unreadable answer ({type(error).__name__})", retryable=True) from None
        return _response(answer, request)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

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


def choice_schema(choices: tuple[str, ...]) -> dict[str, Any]:
    """JSON schema of `{"answer": one of the choices}`."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(choices)}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def without_key(text: str, key: str) -> str:
    """An endpoint's message without the key, which some repeat in it, whole or with its middle masked."""
    return re.sub(re.escape(key[:6]) + r"\S*", "[key]", text)


def _failure(error: Any, key: str) -> CallFailure:
    status = error.status_code
    body = error.body if isinstance(error.body, dict) else {}
    reason = f"HTTP {status}: {without_key(str(body.get('message') or type(error).__name__), key)}"
    after = error.response.headers.get("retry-after", "")
    return CallFailure(
        reason,
        retryable=status in (408, 409, 429) or status >= 500,
        fatal=status in (401, 403, 404),
        retry_after=float(after) if after.replace(".", "", 1).isdigit() else None,
    )


def _response(answer: Any, request: ChatRequest) -> ChatResponse:
    choices = getattr(answer, "choices", None)
    if not choices:
        raise CallFailure("the answer has no choices", retryable=True)
    message, usage = choices[0].message, answer.usage
    text = message.content or ""
    if choices[0].finish_reason == "content_filter":
        raise CallFailure("refused by the endpoint's content filter")
    if request.choices:
        text = _chosen(text)
    return ChatResponse(
        text=text,
        finish=choices[0].finish_reason or "stop",
        prompt_tokens=usage.prompt_tokens if usage else 0,
        completion_tokens=usage.completion_tokens if usage else 0,
        tool_calls=tuple(call.model_dump(mode="json") for call in message.tool_calls or ()),
    )


def _chosen(text: str) -> str:
    """The option in `{"answer": …}`; an endpoint that ignores the schema answers in free text."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return str(value["answer"]) if isinstance(value, dict) and "answer" in value else text
