"""What an endpoint of the OpenAI API sent, as an answer or as the failure that it means."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import responses
from typing import Any

from pydantic import BaseModel, ValidationError

from skillmake.config.endpoints import ModelConfig
from skillmake.llm.types import CallFailure, ChatResponse

LONGEST_MESSAGE = 300  # characters
FILTERED = "refused by the endpoint's content filter"
NO_API = "correct models.*.base_url: there is no chat API; its address usually ends in /v1"


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    """The part that is used; endpoints leave out and add as they like."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


def read_completion(body: bytes) -> ChatResponse:
    """The first choice of a completion; raises CallFailure where there is none that can be used."""
    try:
        value = _Completion.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "body"
        raise CallFailure(
            f"unreadable answer: {place}: {first['msg']}"[:LONGEST_MESSAGE], retryable=True
        ) from None
    if not value.choices:
        said = _message(value.error)
        raise CallFailure("the answer has no choices" + (f": {said}" if said else ""), retryable=True)
    choice, usage = value.choices[0], value.usage or _Usage()
    if choice.finish_reason == "content_filter":
        raise CallFailure(FILTERED)
    return ChatResponse(
        text=choice.message.content or choice.message.refusal or "",
        finish=choice.finish_reason or "stop",
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        tool_calls=tuple(choice.message.tool_calls or ()),
    )


def is_web_page(headers: Mapping[str, str]) -> bool:
    return "html" in headers.get("content-type", "")


def refused(status: int, body: Any, headers: Mapping[str, str], config: ModelConfig) -> CallFailure:
    """The failure that a status means. `body`: the `error` of the answer, or whatever else it was."""
    said = _message(body) or responses.get(status, "refused")
    code = body.get("code") if isinstance(body, dict) else None
    variable = f"the key in environment variable {config.api_key_env}"
    if status in (408, 409, 429) or status >= 500:
        if code == "insufficient_quota":
            return _final(status, said, f"{variable} has no budget left")
        after = retry_after(headers)
        return CallFailure(f"HTTP {status}: {said}", retryable=True, retry_after=after)
    if status == 401 and not os.environ.get(config.api_key_env):
        return _final(status, "a key is wanted", f"export {config.api_key_env}=…")
    # What an endpoint says about a key may quote it
    if status == 401:
        return _final(status, f"{variable} is not accepted", f"set {config.api_key_env} to a valid key")
    if is_web_page(headers):
        return _final(status, "a web page came and no answer", NO_API)
    if status == 403:
        return _final(status, f"{variable} may not do this", "use another key, or another models.*.model")
    if status == 402:
        return _final(status, said, f"{variable} has no budget left")
    if status == 404:
        return _final(status, said, "correct models.*.model or models.*.base_url")
    if status == 405:
        return _final(status, said, NO_API)
    if code == "content_filter":
        return CallFailure(FILTERED)
    return CallFailure(f"HTTP {status}: {said}", asks_too_much=status in (400, 422))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks for, None without a readable one.

    A date in it is taken by the clock that wrote it, the Date of the same answer: our own may be wrong.
    """
    asked = headers.get("retry-after", "")
    if asked.replace(".", "", 1).isdigit():
        return float(asked)
    until = _date(asked)
    if until is None:
        return None
    now = _date(headers.get("date", "")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _final(status: int, said: str, hint: str) -> CallFailure:
    return CallFailure(f"HTTP {status}: {said}", fatal=True, hint=hint)


def _message(body: Any) -> str:
    found = body.get("message") or body.get("detail") or body.get("error") if isinstance(body, dict) else body
    return " ".join(found.split())[:LONGEST_MESSAGE] if isinstance(found, str) else ""
