"""The actors of a rehearsal world as a provider of chat completions; their form and faults on the wire."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from skillmake.artifacts import Artifact, digest
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse, Message, Role
from skillmake.rehearsal import looker, pixels, reading, students
from skillmake.rehearsal.world import World

CHARACTERS_PER_TOKEN = 4
CHUNK = 12  # characters in one event of a stream
UNLIMITED = 2**31
HUGE = 2_000_000  # characters
HANG_S = 60.0
FaultKind = Literal[
    "429", "500", "503", "timeout", "reset", "cut", "bad_body", "empty_choices", "content_filter", "length",
    "bad_json", "empty", "huge",
]  # fmt: skip

ANY_ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}}


class RehearsalProvider:
    """Answers as student, teacher, judge or vision model of a world; equal requests have equal answers.

    With `choices` the text is one of them, with `schema` it is JSON of that shape, else a student writes
    `Answer: <option>`. Tools are called where the question is no case of the world (see `looker`), pictures
    are looked at (see `pixels`). Usage is estimated at four characters a token; an answer longer than
    `max_tokens` is cut with `finish="length"`.
    """

    def __init__(self, world: World, role: Role = "student") -> None:
        self._world, self._role = world, role

    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "rehearsal", "world": self._world.digest, "role": self._role}

    async def complete(self, request: ChatRequest) -> ChatResponse:
        try:
            return self.reply(request)
        except pixels.BadPicture as error:
            raise CallFailure(f"HTTP 400: {error}") from None

    async def close(self) -> None:
        return None

    def reply(self, request: ChatRequest) -> ChatResponse:
        """What `complete` answers, without waiting; BadPicture is raised as it is."""
        asked = tokens(students.whole(request.messages)) + pixels.TOKENS * len(request.pictures)
        called = self._looked_up(request)
        if called is not None and called.tool_calls:
            used = tokens(json.dumps(called.tool_calls))
            return replace(called, prompt_tokens=asked, completion_tokens=used)
        text, finish = (called.text, called.finish) if called else self._text(request)
        limit = request.max_tokens * CHARACTERS_PER_TOKEN
        if len(text) > limit and not request.choices:
            text, finish = text[:limit], "length"
        return ChatResponse(
            text=text,
            finish=finish,
            prompt_tokens=asked,
            completion_tokens=tokens(text),
        )

    def _looked_up(self, request: ChatRequest) -> ChatResponse | None:
        """What pictures show, or the turn of a student with tools; None where the question is a case of the
        world, or not one."""
        if request.pictures and self._role in ("student", "vision"):
            return ChatResponse(text=pixels.described(request.pictures))
        if self._role != "student" or students.asked(self._world, request.messages)[0] is not None:
            return None
        if request.tools:
            return looker.turn(request.messages, request.tools)
        if reading.is_refining(request.messages):
            return ChatResponse(text=reading.refine(request.messages))
        return None

    def _text(self, request: ChatRequest) -> tuple[str, str]:
        if self._role == "teacher" and not request.choices:
            return students.teach(self._world, request.messages, request.schema)
        if self._role == "judge" and not request.choices:
            return self._world.judge(request.messages, request.schema), "stop"
        option = self._world.answer(request.messages, request.temperature, request.replicate)
        if request.choices:
            return self._chosen(request, option), "stop"
        if request.schema:
            return student_json(request.schema, option), "stop"
        return (f"Answer: {option}" if option else "I do not know this case."), "stop"

    def _chosen(self, request: ChatRequest, option: str) -> str:
        """The choice that means the option: itself, or the label it has in the last message with a case."""
        choices = request.choices or ()
        if option in choices:
            return option
        unit, place = students.asked(self._world, request.messages)
        if unit is not None:
            listed = students.labels(unit, students.content(request.messages[place]))
            for label, text in listed.items():
                if text == option and label in choices:
                    return label
        return students.pick(choices, "unknown case", self._world.config.seed, request.messages)


def tokens(text: str) -> int:
    """Estimated tokens of a text: a quarter of its characters, at least one."""
    return max(1, len(text) // CHARACTERS_PER_TOKEN)


def student_json(schema: Mapping[str, Any], option: str) -> str:
    """A student's JSON answer: the option where the schema asks for a text, else the plainest value."""

    def leaf(_: str, part: Mapping[str, Any]) -> Any:
        open_text = part.get("type") == "string" and option in part.get("enum", [option])
        return option if open_text else students.plain(part)

    return json.dumps(students.fill(schema, schema, leaf))


class ApiError(Exception):
    """A refusal in the shape of OpenAI's errors."""

    def __init__(
        self, status: int, message: str, kind: str, code: str | None, retry: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.retry = status, retry
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


class Fault(Artifact):
    """A fault that hits the first `count` calls, or each call with probability `rate`."""

    kind: FaultKind
    rate: float = Field(0.0, ge=0, le=1, description="chance per request and try; with `count` not looked at")
    count: int | None = Field(None, ge=1, description="the next so many calls are hit, then no more")
    retry_after: float | None = Field(None, ge=0, description="seconds in the Retry-After header")
    latency_s: float = Field(0.0, ge=0, description="seconds before it; 0 for `timeout` is 60")
    role: Role | None = Field(None, description="only calls of this model")

    @property
    def wait_s(self) -> float:
        return self.latency_s or (HANG_S if self.kind == "timeout" else 0.0)


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
