"""The whole loop with an agent that looks things up, over HTTP, with Snakemake.

Judges blame a tool whose prompt has a hole, the prompt is evolved at the epoch's end, and R2 keeps it or not.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillmake.agent.loop import Prediction
from skillmake.config.load import overlay
from skillmake.rehearsal.habits import DOUBT, KEEP_ALL, TOOL
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World, WorldConfig
from skillmake.rollout import Rollout
from tests.films import write_films
from tests.integration.conftest import ROOT, Project

pytestmark = pytest.mark.dag
EXTRACT = "tools/read_node/extract.md"
CANARY = "sk-canary-e4b1c07d52"
TINY: dict[str, Any] = {
    "data": {"questions": "films/questions.jsonl", "videos": "films/videos"},
    "train": {"epochs": 1, "batch_size": 12, "min_class_per_batch": 2},
    "diagnose": {"method": "judges", "right_sample": 1},
    "slow": {"momentum": False},
    "gate": {"n_max": 6, "rung": 6},
}


GOOD, BAD = (  # worlds whose teacher proposes nothing but what helps, and what harms
    WorldConfig(useful_share=share, harmful_share=1 - share, useless_share=0.0) for share in (1.0, 0.0)
)


def config(run: str, url: str, teacher: WorldConfig, teacher_url: str) -> dict[str, Any]:
    models = {
        role: {"provider": "openai", "model": f"rehearsal-{role}", "base_url": f"{url}/v1"}
        for role in ("student", "judge")
    }
    name = f"rehearsal-teacher@{World(teacher).digest}"
    models["teacher"] = {"provider": "openai", "model": name, "base_url": f"{teacher_url}/v1"}
    value: dict[str, Any] = {}
    for path in ("params.yaml", "configs/nextqa_tree.yaml"):
        value = overlay(value, yaml.safe_load((ROOT / path).read_text()))
    return overlay(overlay(value, TINY), {"run": run, "models": models})


class Run:
    """The artefacts of one run."""

    def __init__(self, work: Project, name: str) -> None:
        self._folder, self.name = work.root / "runs" / name, name

    def read(self, name: str) -> Any:
        return json.loads((self._folder / f"{name}.json").read_text())

    def baseline(self) -> tuple[Prediction, ...]:
        value = self.read("data/baseline")
        return Rollout.model_validate({k: v for k, v in value.items() if k in Rollout.model_fields}).rows


@pytest.fixture
def work(project: Callable[[str], Project]) -> Project:
    """Films; the agent says no to what no window names, and its extracts leave out what is named but once."""
    made = project("work")
    write_films(made.root / "films", 12)
    skill = made.root / "data/tree/skills/default-strategy/SKILL.md"
    skill.write_text(f"{skill.read_text().rstrip()}\n- {DOUBT}\n")
    return made


def holding(text: str, work: Project) -> list[Path]:
    """Files of the project and of its cache with `text` in their name or content."""
    places = (work.root, Path(work.env["SKILLMAKE_CACHE"]))
    found = [path for place in places for path in place.rglob("*")]
    return [p for p in found if text in str(p) or (p.is_file() and text.encode() in p.read_bytes())]


def test_a_tree_agent_trains_and_its_tool_prompts_are_kept_or_reverted(
    work: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = (work.root / "data/tree/prompts" / EXTRACT).read_text()
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    servers = [ServerConfig(world=world, api_key=CANARY) for world in (GOOD, BAD)]
    with serve(servers[0]) as (good, _), serve(servers[1]) as (bad, _):
        kept, reverted = Run(work, "kept"), Run(work, "reverted")
        work.params(config(kept.name, good, GOOD, good))
        told = work.train("--printshellcmds", "--quiet", "progress")
        assert "python -m skillmake.job gate" in told
        assert CANARY not in told
        assert holding(CANARY, work) == []
        is_looked_up(kept)
        is_blamed(kept)
        first, second = kept.read("e01/end/validation"), kept.read("e01/end/validation2")
        assert second["verdict"] == "kept"
        assert second["slow_candidate"]["accuracy"] > first["accuracy"]
        delivered = (work.root / "prompts-delivered" / EXTRACT).read_text()
        assert delivered == f"{seed.strip()}\n{KEEP_ALL}\n"
        assert prompt(kept.read("e01/end/texts")) == delivered
        metrics: dict[str, Any] = work.metrics()
        assert metrics["validation"]["best_epoch"] == 1
        assert metrics["test"]["by_type"]["there"]["gain"] > 0
        assert metrics["calls"]["judge"] > 0

        work.params(config(reverted.name, good, BAD, bad))
        work.train()
        is_blamed(reverted)
        first, second = reverted.read("e01/end/validation"), reverted.read("e01/end/validation2")
        assert second["verdict"] == "reverted"
        assert second["slow_candidate"]["accuracy"] < first["accuracy"]
        tried = prompt(reverted.read("e01/end/prompts_texts"))
        assert tried.removeprefix(seed.strip()).strip() in TOOL["extract"]["harmful"]
        assert prompt(reverted.read("e01/end/texts")) == seed
        assert (work.root / "prompts-delivered" / EXTRACT).read_text() == seed

        # A caption that changes is another question: only its runs are paid anew
        film = work.root / "films/videos/v00.json"
        film.write_text(film.read_text().replace("sits", "stands"))
        before, paid = reverted.baseline(), len(work.paid())
        work.run("snakemake", "--cores", "2", f"runs/{reverted.name}/data/baseline.json")
        pairs = zip(before, reverted.baseline(), strict=True)
        assert {new.question_id for old, new in pairs if old.run != new.run} == {"v00-q", "v00-pa", "v00-pb"}
        assert len(work.paid()) > paid


def is_looked_up(run: Run) -> None:
    baseline = run.baseline()
    assert len(baseline) == 36
    assert {row.stop_reason for row in baseline} == {"answered"}
    assert {step.tool for row in baseline for step in row.steps} >= {"search_captions", "read_node"}
    assert all(row.run and row.steps for row in baseline)


def is_blamed(run: Run) -> None:
    diagnosis = run.read("e01/s001/diagnosis")
    assert list(diagnosis["tools"]) == ["read_node"]
    cases = diagnosis["tools"]["read_node"]["cases"]
    assert {case["blame"] for case in cases} == {"tool read_node"}
    assert all("is flawed: The extract prompt of read_node left out" in case["notes"][0] for case in cases)
    assert any(case["missed"] for case in cases)
    # One of three or four steps is sound, the search; and the data says how much of the clip was read
    assert all(0 < diagnosis["soft"][case["question_id"]] < 0.5 for case in cases)
    assert run.read("e01/end/prompts")["changed"] == [EXTRACT]


def prompt(texts: Any) -> str:
    return str(texts["prompts"]["files"][EXTRACT])
