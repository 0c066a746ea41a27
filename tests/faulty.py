"""A rehearsal server with faults, its questions, and clients of it."""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from skillmake.agent.loop import Agent
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.openai_provider import OpenAIProvider, address
from skillmake.llm.types import CallFailure, Provider, Role
from skillmake.questions import Question
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.world import World
from skillmake.texts import Texts, Version
from tests.faults import ANSWER_BYTES, RETRIES, VARIABLE

KEY = "sk-canary-7f1b3c"
WORLD = World(WorldConfig(types=1, units_per_type=30, pair_share=0.0, churn=0))
QUESTIONS = [Question.model_validate(row) for row in WORLD.questions()]
PATH = "default-strategy/SKILL.md"
SKILL = "---\nname: default-strategy\ndescription: d\n---\n\n## Rules\n\n- Look first.\n"
TEXTS = Texts(
    skills=Version.of({PATH: SKILL}, None, "seed"),
    prompts=Version.of({"system.md": "Answer."}, None, "seed"),
)


@dataclass
class Endpoint:
    """The server as one test sees it: its faults, and clients with a cache and a log of their own."""

    url: str
    place: Path
    clients: list[Client]

    def fail(self, *faults: Mapping[str, Any]) -> None:
        data = json.dumps(faults).encode()
        urlopen(Request(f"{self.url}/faults", data, {"Content-Type": "application/json"})).close()

    def client(self, role: Role = "student", timeout: float = 20.0, **given: str) -> Client:
        parts = urlsplit(self.url)
        port = free_port() if "port" in given else parts.port
        base_url = f"http://{given.get('host', parts.hostname)}:{port}{given.get('path', '/v1')}"
        name = given.get("model", f"rehearsal-{role}")
        model = ModelConfig(provider="openai", model=name, base_url=base_url, api_key_env=VARIABLE)
        client = Client(
            OpenAIProvider(model, 2 * timeout, ANSWER_BYTES),
            role,
            CallCache(self.place / "cache"),
            Meter(self.place / "log", Caps(), "job"),
            name=f"{name} at {address(model)}",
            slots=4,
            timeout=timeout,
            retries=RETRIES,
            retry_wait=0,
        )
        self.clients.append(client)
        return client

    def agent(self, **more: Any) -> Agent:
        return Agent(self.client(**more), ModelConfig(), AgentConfig())

    @property
    def log(self) -> list[dict[str, Any]]:
        path = self.place / "log" / "calls" / "job.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    @property
    def cached(self) -> int:
        return len(list(self.place.rglob("calls/*/*.json")))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def question() -> Question:
    """One that a skill without rules answers right."""
    unit = next(unit for unit in WORLD.units.values() if unit.needs == frozenset())
    return Question.model_validate(unit.questions[0])


class Busy(Provider):
    """A provider that asks for an hour each time."""

    identity: dict[str, Any] = {"provider": "busy"}  # noqa: RUF012 - a constant

    async def complete(self, _: object) -> Any:
        raise CallFailure("HTTP 429: wait", retryable=True, retry_after=3600)

    async def close(self) -> None:
        return None
