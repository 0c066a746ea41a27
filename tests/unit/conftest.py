"""What tests of several modules are given."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.loop import Agent, Prediction
from skillmake.artifacts import canonical, write_text
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.config.models import Diagnose
from skillmake.judges.diagnosis import diagnose_by_judges
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import Provider
from skillmake.packs import Diagnosis
from skillmake.questions import Question
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.structured import Asker
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts
from tests.faults import VARIABLE
from tests.faulty import KEY, WORLD, Endpoint
from tests.gating import Hire
from tests.judging import DIAGNOSE, TEXTS, DiagnosisOf
from tests.small_run import SmallRun
from tests.worlds import question


@pytest.fixture
def diagnosis_of(tmp_path: Path) -> Iterator[DiagnosisOf]:
    """Diagnosis of rows with a provider as the judge."""
    clients = []

    def diagnose(
        provider: Provider,
        rows: Sequence[Prediction],
        questions: Mapping[str, Question] | None = None,
        texts: Texts = TEXTS,
        **config: Any,
    ) -> Diagnosis:
        client = Client(
            provider, "judge", CallCache(tmp_path / "cache"), Meter(tmp_path, Caps(), "j"), slots=4
        )
        clients.append(client)
        model = ModelConfig(provider="rehearsal", model="judge", max_tokens=1000)
        known = questions or {row.question_id: question(row.question_id) for row in rows}
        return diagnose_by_judges(
            rows,
            known,
            texts,
            asker=Asker(client, model, Templates(DIAGNOSE)),
            config=Diagnose(method="judges", **config),
            seed=(1,),
        )

    yield diagnose
    for client in clients:
        client.close()


@pytest.fixture
def hire(tmp_path: Path) -> Iterator[Hire]:
    """Makes an agent of a provider. Each has a cache of its own, so that only a lookup saves a call."""
    clients, number = [], count()

    def make(provider: Provider, *, slots: int = 1, temperature: float = 0.0) -> Agent:
        place = tmp_path / str(next(number))
        client = Client(
            provider, "student", CallCache(place), Meter(place, Caps(), "t"), slots=slots, retries=0
        )
        clients.append(client)
        model = ModelConfig(provider="rehearsal", model="m", temperature=temperature)
        return Agent(client, model, AgentConfig())

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve(ServerConfig(world=WORLD.config, api_key=KEY)) as (address, _):
        yield address


@pytest.fixture
def endpoint(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv(VARIABLE, KEY)
    made = Endpoint(url, tmp_path, [])
    yield made
    for client in made.clients:
        client.close()
    made.fail()


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three steps up to the end of its first epoch, with what SmallRun does not write of it."""
    monkeypatch.chdir(tmp_path)
    folder = SmallRun(tmp_path).folder
    batch = {"units": [], "types": ["alpha", "beta"], "edit_budget": 2}
    write_text(folder / "e01/plan.json", canonical({"epoch": 1, "stop": "", "batches": [batch] * 3}))
    for step in range(1, 4):
        rows = [{"right": True}, {"right": False}, {"right": None}, {"right": True}]
        write_text(folder / f"e01/s00{step}/rollout.json", canonical({"rows": rows}))
    write_text(folder / "e01/end/scores.json", canonical({"overall": {"hard": 0.5}}))
    order = ["data/baseline.json", "init/state.json", "init/best.json", "e01/plan.json"]
    for step in range(1, 4):
        order += [f"e01/s00{step}/rollout.json", *(f"e01/s00{step}/gate/{t}.json" for t in ("alpha", "beta"))]
        order += [f"e01/s00{step}/state.json"]
    ends = ("validation", "scores", "best", "momentum", "state")
    order += [f"e01/end/{name}.json" for name in ends]
    begin = time.time() - 1000
    for place, name in enumerate(order):
        if (folder / name).exists():
            os.utime(folder / name, (begin + 10 * place, begin + 10 * place))
    return folder
