"""The actors of a rehearsal world as a provider of chat completions."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse, Provider, Role
from skillmake.rehearsal import looker, pixels, reading, students, teacher
from skillmake.rehearsal.world import World

CHARACTERS_PER_TOKEN = 4


class RehearsalProvider(Provider):
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
            return teacher.teach(self._world, request.messages, request.schema)
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
