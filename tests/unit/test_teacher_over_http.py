"""All that a teacher is asked for, over HTTP: the same as in process (SPEC §5, §7.6-7)."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Evolve
from skillmake.edits import Edit
from skillmake.guards import LeakGuard
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.openai_provider import OpenAIProvider
from skillmake.llm.types import Provider
from skillmake.momentum import Comparison, Sample
from skillmake.packs import Pack
from skillmake.prompt_evolution import Kind, Record, evolve_records
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World
from skillmake.structured import Asker
from skillmake.teachers.llm import LlmTeacher
from skillmake.teachers.momentum import LlmMomentumTeacher
from skillmake.teachers.ranking import rank_edits
from skillmake.teachers.templates import Templates
from tests.evolving import SKILL, case, job

WORLD = World(WorldConfig(types=1, units_per_type=12, pair_share=0.0, system_rules=2))
PROMPTS = Path(__file__).parents[2] / "prompts"
EVOLVE, SLOW = Templates(PROMPTS / "evolve"), Templates(PROMPTS / "slow")
MODEL = ModelConfig(provider="rehearsal", model="teacher", max_tokens=2000)
QUESTIONS = [next(iter(unit.questions)) for unit in WORLD.units.values()]
PACK = Pack(cases=tuple(case(str(q["question_id"]), str(q["question"])) for q in QUESTIONS))
TOOL = {"extract": "Note what you see.\n", "verify": "Look again.\n"}
EDITS = [Edit(op="add", text=f"- {word}.", reason="why") for word in ("One", "Two", "Three")]
Ask = Callable[[Client], Any]


def by_mode(mode: str) -> Ask:
    return lambda client: LlmTeacher(client, MODEL, EVOLVE, mode).propose(job(PACK))


def rank(client: Client) -> Any:
    return rank_edits(Asker(client, MODEL, EVOLVE), job(PACK), EDITS)


def guide(client: Client) -> Any:
    samples = tuple(
        Sample(
            question_id=one.question_id,
            unit_id=one.unit_id,
            question=one.question,
            options=None,
            answer="here",
            before="here",
            after="there",
            change="regressed",
        )
        for one in PACK.cases
    )
    compared = Comparison(path="p", task_types=("parcel desk",), skill=SKILL, guidance="", samples=samples)
    (found,) = LlmMomentumTeacher(client, MODEL, SLOW).guide([compared])
    return found


def by_kind(kind: Kind, texts: dict[str, str]) -> Ask:
    def ask(client: Client) -> Any:
        records, teacher = [Record(kind, "lens", texts, PACK)], Asker(client, MODEL, EVOLVE)
        (found,) = evolve_records(records, budget=3, teacher=teacher, guard=LeakGuard([]), config=Evolve())
        return found

    return ask


ASKED: dict[str, tuple[Ask, str]] = {
    "patch": (by_mode("patch"), "edits"),
    "rewrite": (by_mode("rewrite"), "rewritten"),
    "rank": (rank, "value"),
    "momentum": (guide, "text"),
    "system": (by_kind("system", {"system.md": "You answer.\n"}), "after"),
    "tool": (by_kind("tool", TOOL), "after"),
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve(ServerConfig(world=WORLD.config)) as (address, _):
        yield address


@pytest.mark.parametrize("name", sorted(ASKED))
def test_over_http_the_teacher_says_the_same_as_in_process(
    name: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    ask, answer = ASKED[name]
    remote = ModelConfig(provider="openai", model="rehearsal-teacher", base_url=f"{url}/v1")
    here, there = (
        asked(provider, ask, tmp_path / place)
        for place, provider in (
            ("here", RehearsalProvider(WORLD, "teacher")),
            ("there", OpenAIProvider(remote, 20.0)),
        )
    )
    assert here[answer]
    assert here.get("status", "proposed") == "proposed"
    assert there == here


def asked(provider: Provider, ask: Ask, place: Path) -> dict[str, Any]:
    """What came of it but for the keys of the calls, which tell the two providers apart."""
    client = Client(provider, "teacher", CallCache(place), Meter(place, Caps(), "t"))
    try:
        found = ask(client)
    finally:
        client.close()
    values = found.model_dump() if hasattr(found, "model_dump") else asdict(found)
    assert len(values.pop("calls")) == 1
    return dict(values)
