"""Requests and answers of a rehearsal world in the form of the OpenAI API."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from skillmake.artifacts import digest
from skillmake.llm.types import ChatRequest, ChatResponse, Message, Role
from skillmake.rehearsal import pixels
from skillmake.rehearsal.provider import RehearsalProvider, tokens
from skillmake.rehearsal.world import World

CHUNK = 12  # characters in one event of a stream
UNLIMITED = 2**31

ANY_ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}}


class ApiError(Exception):
    """A refusal in the shape of OpenAI's errors."""

    def __init__(self, status: int, message: str, kind: str, code: str | None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": None, "code": code}}


class ChatBody(BaseModel):
    """The part of an OpenAI chat request that makes a difference here; the rest is ignored."""

    model: str
    messages: list[Message] = Field(min_length=1)
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    seed: int | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None

    @property
    def schema_asked(self) -> dict[str, Any]:
        """The schema the answer must have; empty: free text."""
        asked = self.response_format or {}
        if asked.get("type") == "json_object":
            return ANY_ANSWER
        return dict((asked.get("json_schema") or {}).get("schema") or {})

    @property
    def key(self) -> str:
        """Equal for equal requests."""
        value = self.model_dump(mode="json")
        # Faults are drawn by it: requests without tools must keep theirs
        return digest({k: part for k, part in value.items() if k != "tools" or part})

    def request(self) -> ChatRequest:
        """The request in our own form; `seed` is the replicate, the temperature is 1 where none is given."""
        schema = self.schema_asked
        properties = schema.get("properties", {})
        enum = (
            properties.get("answer", {}).get("enum") if set(properties) == {"answer"} else schema.get("enum")
        )
        return ChatRequest(
            messages=tuple(self.messages),
            temperature=1.0 if self.temperature is None else self.temperature,
            max_tokens=self.max_completion_tokens or self.max_tokens or UNLIMITED,
            choices=tuple(map(str, enum)) if enum else None,
            # The free teacher and judge answer JSON of their own shape, which `json_object` leaves to them
            schema=schema if schema and schema is not ANY_ANSWER else None,
            replicate=self.seed or 0,
            tools=tuple(self.tools or ()),
        )


def parsed(data: bytes) -> ChatBody:
    """The request in an HTTP body; raises ApiError 400 that names the first bad field."""
    try:
        return ChatBody.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ApiError(400, f"{place}: {first['msg']}", "invalid_request_error", None) from None


def wire_reply(world: World, role: Role, body: ChatBody) -> ChatResponse:
    """The answer to an OpenAI request: a choice is wrapped in the JSON that the schema asked for.

    Raises ApiError 400 for a picture that cannot be looked at.
    """
    request = body.request()
    if role == "student" and body.schema_asked is ANY_ANSWER:
        request = replace(request, schema=ANY_ANSWER)
    try:
        reply = RehearsalProvider(world, role).reply(request)
    except pixels.BadPicture as error:
        raise ApiError(400, str(error), "invalid_request_error", "invalid_image") from None
    if not request.choices:
        return reply
    text = json.dumps({"answer": reply.text} if "properties" in body.schema_asked else reply.text)
    return replace(reply, text=text, completion_tokens=tokens(text))


def completion(body: ChatBody, reply: ChatResponse, has_choices: bool = True) -> dict[str, Any]:
    """A whole `chat.completion` object; without choices it is one no client can use."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.tool_calls:
        message |= {"content": None, "tool_calls": list(reply.tool_calls)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish}
    choices = [choice] if has_choices else []
    return {**_head(body, "chat.completion"), "choices": choices, "usage": _usage(reply)}


def events(body: ChatBody, reply: ChatResponse, has_choices: bool = True) -> Iterator[str]:
    """The same as server-sent events; usage comes last where `stream_options` asks for it, as at OpenAI."""
    pieces = [reply.text[i : i + CHUNK] for i in range(0, len(reply.text), CHUNK)]
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": piece}, None) for piece in pieces]
    called = [{"index": place, **call} for place, call in enumerate(reply.tool_calls)]
    deltas += [({"tool_calls": [call]}, None) for call in called]
    deltas.append(({}, reply.finish))
    for delta, finish in deltas if has_choices else []:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        yield _event({**_head(body, "chat.completion.chunk"), "choices": [choice]})
    if (body.stream_options or {}).get("include_usage"):
        yield _event({**_head(body, "chat.completion.chunk"), "choices": [], "usage": _usage(reply)})
    yield "data: [DONE]\n\n"


def _event(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _head(body: ChatBody, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{body.key}", "object": kind, "created": 0, "model": body.model}


def _usage(reply: ChatResponse) -> dict[str, int]:
    total = reply.prompt_tokens + reply.completion_tokens
    sides = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
    return {**sides, "total_tokens": total}
