"""A student whose answers are written down, to test what happens around them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skillmake.agent.environments.base import Environment
from skillmake.agent.loop import Agent
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse, Provider
from skillmake.texts import Texts, Version

SKILL = "---\nname: default-strategy\ndescription: d\n---\n\n## Rules\n\n- Look first.\n"


def call(tool: str, arguments: Mapping[str, Any] | str | None = None, call_id: str = "x") -> dict[str, Any]:
    """A tool call as the OpenAI API gives it; a text is taken as the raw arguments."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": tool, "arguments": text}}


def calls(*items: dict[str, Any], text: str = "") -> ChatResponse:
    return ChatResponse(
        text=text, finish="tool_calls", prompt_tokens=10, completion_tokens=2, tool_calls=items
    )


def says(text: str) -> ChatResponse:
    return ChatResponse(text=text, prompt_tokens=10, completion_tokens=1)


class Scripted(Provider):
    """`turns`: what is answered to the first, second, … turn of a run; the last one is repeated.

    `refine`: the answer to an extract or verify prompt, by its request. A request that holds the text `fails`
    fails for good.
    """

    def __init__(
        self,
        *turns: ChatResponse,
        refine: Callable[[ChatRequest], str] = lambda _: "",
        fails: str | None = None,
    ) -> None:
        self.turns, self.refine, self.fails = turns, refine, fails
        self.requests: list[ChatRequest] = []

    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "scripted"}

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        if self.fails is not None and self.fails in json.dumps(request.messages):
            raise CallFailure("down")
        if not request.tools and len(request.messages) == 2 and request.choices is None:
            return says(self.refine(request))
        turn = sum(message["role"] == "assistant" for message in request.messages)
        return self.turns[min(turn, len(self.turns) - 1)]

    async def close(self) -> None:
        return None


def texts(prompts: Mapping[str, str] | None = None) -> Texts:
    files = {"system.md": "Answer.", **(prompts or {})}
    skills = {"default-strategy/SKILL.md": SKILL}
    return Texts(skills=Version.of(skills, None, "seed"), prompts=Version.of(files, None, "seed"))


def agent(student: Scripted, root: Path, environment: Environment | None = None, **config: Any) -> Agent:
    meter = Meter(root / "log", Caps(), "job")
    client = Client(student, "student", CallCache(root / "cache"), meter, slots=4, retries=0)
    return Agent(client, ModelConfig(), AgentConfig(**config), environment)
