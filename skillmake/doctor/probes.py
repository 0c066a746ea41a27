"""Tiny requests that find out what a model can really do: answer, keep to a schema, call tools, see."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from skillmake.agent.environments.tree import SEARCH_CAPTIONS
from skillmake.config.endpoints import ModelConfig
from skillmake.doctor.swatch import COLOUR, swatch
from skillmake.errors import EndpointError
from skillmake.llm.cost import Price
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse, Provider

State = Literal["yes", "ignored", "refused", "cut off", "unknown"]
ANSWER, SCHEMA, TOOLS, IMAGES = "answer", "structured output", "tools", "images"
CHOICES = ("lemon", "walrus")


@dataclass(frozen=True)
class Probe:
    """A request, and whether an answer shows what it is to show."""

    request: ChatRequest
    passed: Callable[[ChatResponse], bool]


@dataclass(frozen=True)
class Seen:
    """What a probe has found. `refused`: the endpoint said no to it; `ignored`: it answered as if it had not
    been asked; `unknown`: nothing that would not pass with time; `fatal`: no call can work."""

    state: State
    reason: str = ""
    seconds: float = 0.0
    is_fatal: bool = False
    todo: str = ""


@dataclass
class Spent:
    """Requests and tokens of probes."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class Probed:
    """What a model can do, by probe."""

    seen: Mapping[str, Seen] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)


def probe_model(provider: Provider, model: ModelConfig, timeout: float) -> Probed:
    """Ask for one thing after the other, each within `timeout` seconds, until no call can work."""
    seen: dict[str, Seen] = {}
    spent = Spent()
    with asyncio.Runner() as runner:
        for name, probe in probes(model).items():
            seen[name] = runner.run(_ask(provider, probe, model, spent, timeout))
            if seen[name].is_fatal or (name == ANSWER and seen[name].state in ("refused", "unknown")):
                break
        runner.run(provider.close())
    return Probed(seen, spent)


def probes(model: ModelConfig) -> dict[str, Probe]:
    """The requests, with the sampling parameters that the run will use."""

    def request(content: object) -> ChatRequest:
        messages = ({"role": "user", "content": content},)
        return ChatRequest(messages, temperature=model.temperature, max_tokens=model.max_tokens)

    # No word of the choices stands in the text: only a model that is held to them can answer with one
    hello = request("Say hello.")
    look = request("Call the tool search_captions with the query: harbour.")
    see = request(
        [
            {"type": "text", "text": "Which colour has this picture? Answer with one word."},
            {"type": "image_url", "image_url": {"url": swatch()}},
        ]
    )
    return {
        ANSWER: Probe(hello, lambda response: bool(response.text.strip())),
        SCHEMA: Probe(replace(hello, choices=CHOICES), lambda response: response.text in CHOICES),
        TOOLS: Probe(replace(look, tools=(SEARCH_CAPTIONS.wire,)), _calls_the_tool),
        IMAGES: Probe(see, lambda response: bool(re.search(rf"\b{COLOUR}\b", response.text.lower()))),
    }


def _calls_the_tool(response: ChatResponse) -> bool:
    try:
        call = response.tool_calls[0]["function"]
        return call["name"] == SEARCH_CAPTIONS.name and "query" in json.loads(call["arguments"])
    except (IndexError, KeyError, TypeError, ValueError):
        return False


async def _ask(provider: Provider, probe: Probe, model: ModelConfig, spent: Spent, timeout: float) -> Seen:
    await provider.open()
    started = time.monotonic()
    spent.requests += 1
    try:
        async with asyncio.timeout(timeout):
            response = await provider.complete(probe.request)
    except TimeoutError:
        return Seen("unknown", f"no answer within {timeout:g} s")
    except CallFailure as failure:
        state: State = "unknown" if failure.retryable and not failure.fatal else "refused"
        return Seen(state, failure.reason, is_fatal=failure.fatal, todo=failure.hint)
    except EndpointError as error:
        return Seen("refused", error.message, is_fatal=True, todo=error.hint)
    spent.prompt_tokens += response.prompt_tokens
    spent.completion_tokens += response.completion_tokens
    spent.cost += Price(model.price_in, model.price_out).of(response)
    seconds = time.monotonic() - started
    if probe.passed(response):
        return Seen("yes", seconds=seconds)
    if response.finish == "length":
        return Seen("cut off", f"the answer ends at {model.max_tokens} tokens", seconds)
    return Seen("ignored", f"answered {response.text[:40]!r}", seconds)
