"""Asking a teacher model for JSON: one call, and one repair try when the answer cannot be used."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from skillmake.config.endpoints import ModelConfig
from skillmake.llm.client import Client
from skillmake.llm.types import CallError, ChatRequest, Message
from skillmake.teachers.templates import Templates

Value = TypeVar("Value")


@dataclass(frozen=True)
class Asked(Generic[Value]):
    """What came of asking: a value, or the reason why there is `nothing`; and what was paid."""

    value: Value | None = None
    nothing: str = ""
    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


def ask(
    client: Client,
    model: ModelConfig,
    templates: Templates,
    prompt: str,
    schema: dict[str, Any],
    read: Callable[[str], Value],
) -> Asked[Value]:
    """The teacher's answer as `read` understands it; `read` raises ValueError where it cannot.

    The repair prompt is `repair.md` of `templates`.
    """
    messages: tuple[Message, ...] = ({"role": "user", "content": prompt},)
    asked: Asked[Value] = Asked()
    problem = ""
    for _ in range(2):
        request = ChatRequest(
            messages=messages, temperature=model.temperature, max_tokens=model.max_tokens, schema=schema
        )
        reply = client.ask([request])[0]
        if isinstance(reply.outcome, CallError):
            return replace(asked, nothing=f"teacher call failed: {reply.outcome.reason}")
        asked = Asked(
            calls=(*asked.calls, reply.key),
            prompt_tokens=asked.prompt_tokens + reply.outcome.prompt_tokens,
            completion_tokens=asked.completion_tokens + reply.outcome.completion_tokens,
        )
        if reply.outcome.finish == "length":
            return replace(asked, nothing="the teacher's answer was cut off (models.teacher.max_tokens)")
        try:
            return replace(asked, value=read(reply.outcome.text))
        except ValueError as error:
            problem = str(error)
        repair = templates.render("repair.md", problem=problem)
        messages += (
            {"role": "assistant", "content": reply.outcome.text},
            {"role": "user", "content": repair},
        )
    return replace(asked, nothing=f"the teacher's answer cannot be used: {problem}")
