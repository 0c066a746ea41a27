"""Answers of a model as checked values: JSON of a pydantic schema, with one repair try (SPEC §4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from skillmake.config.endpoints import ModelConfig
from skillmake.llm.client import Client
from skillmake.llm.types import CallError, ChatRequest, Message, Reply
from skillmake.teachers.answers import parse_object
from skillmake.teachers.templates import Templates


class Answer(BaseModel):
    """Base of what a model is asked for. Fields have no default and no bounds, as structured output wants."""

    model_config = ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class Ask(Generic[A]):
    """One question to a model. `check` says what is wrong with a value that fits the schema, if anything."""

    prompt: str
    schema: type[A]
    check: Callable[[A], str] | None = None


@dataclass(frozen=True)
class Got(Generic[A]):
    """The value, or None and the problem; with the keys and tokens of all calls that it took."""

    value: A | None = None
    problem: str = ""
    repairable: bool = True
    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Asker:
    """Asks one model; the calls of all asks run side by side, up to the slots of the client."""

    def __init__(self, client: Client, model: ModelConfig, templates: Templates) -> None:
        self._client, self._model, self._templates = client, model, templates

    def prompt(self, template: str, /, **values: Any) -> str:
        """The text of a template; a DataError names a mistake in it."""
        return self._templates.render(template, **values)

    def ask(self, asks: Sequence[Ask[A]]) -> list[Got[A]]:
        """One value per ask, in their order. What does not parse is asked for once more with `repair.md`.

        An answer cut off at `max_tokens` or a call that failed for good is not repaired.
        """
        got: list[Got[A]] = [Got() for _ in asks]
        talks: dict[int, tuple[Message, ...]] = {
            k: ({"role": "user", "content": ask.prompt},) for k, ask in enumerate(asks)
        }
        for _ in range(2):
            if not talks:
                break
            replies = self._client.ask([self._request(asks[k], talk) for k, talk in talks.items()])
            by_ask = dict(zip(talks, replies, strict=True))
            for k, reply in by_ask.items():
                got[k] = _read(asks[k], got[k], reply)
            failed = {k: talk for k, talk in talks.items() if got[k].value is None and got[k].repairable}
            talks = {k: self._repair(talk, by_ask[k], got[k].problem) for k, talk in failed.items()}
        return got

    def _request(self, ask: Ask[A], messages: tuple[Message, ...]) -> ChatRequest:
        return ChatRequest(
            messages=messages,
            temperature=self._model.temperature,
            max_tokens=self._model.max_tokens,
            schema=_schema(ask.schema),
        )

    def _repair(self, talk: tuple[Message, ...], reply: Reply, problem: str) -> tuple[Message, ...]:
        said = reply.response.text if reply.response else ""
        return (
            *talk,
            {"role": "assistant", "content": said},
            {"role": "user", "content": self.prompt("repair.md", problem=problem)},
        )


@cache
def _schema(answer: type[Answer]) -> dict[str, Any]:
    return answer.model_json_schema()


def _read(ask: Ask[A], before: Got[A], reply: Reply) -> Got[A]:
    if isinstance(reply.outcome, CallError):
        return replace(before, problem=f"the call failed: {reply.outcome.reason}", repairable=False)
    paid = replace(
        before,
        calls=(*before.calls, reply.key),
        prompt_tokens=before.prompt_tokens + reply.outcome.prompt_tokens,
        completion_tokens=before.completion_tokens + reply.outcome.completion_tokens,
    )
    if reply.outcome.finish == "length":
        return replace(paid, problem="the answer was cut off (max_tokens)", repairable=False)
    try:
        value = read_answer(reply.outcome.text, ask.schema)
    except ValueError as error:
        return replace(paid, problem=str(error))
    problem = ask.check(value) if ask.check else ""
    return replace(paid, value=None if problem else value, problem=problem)


def read_answer(text: str, schema: type[A]) -> A:
    """The value in a model's text; ValueError with a short reason if it does not fit the schema."""
    try:
        return schema.model_validate(parse_object(text))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else str(first["msg"])) from None
