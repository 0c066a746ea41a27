"""The whole loop with an agent that looks things up, over HTTP, with Snakemake."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillmake.agent.loop import Prediction
from skillmake.config.load import overlay
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rollout import Rollout
from tests.films import write_films
from tests.integration.conftest import ROOT, Project

pytestmark = pytest.mark.dag
CANARY = "sk-canary-e4b1c07d52"
TINY = {
    "data": {"questions": "films/questions.jsonl", "videos": "films/videos"},
    "train": {"epochs": 1, "batch_size": 10, "min_class_per_batch": 2},
    "gate": {"n_max": 12, "rung": 6},
}


def config(url: str) -> dict[str, Any]:
    models = {
        role: {"provider": "openai", "model": f"rehearsal-{role}", "base_url": f"{url}/v1"}
        for role in ("student", "teacher", "judge")
    }
    value: dict[str, Any] = {}
    for path in ("params.yaml", "configs/nextqa_tree.yaml"):
        value = overlay(value, yaml.safe_load((ROOT / path).read_text()))
    return overlay(overlay(value, TINY), {"models": models})


def predictions(work: Project, name: str) -> tuple[Prediction, ...]:
    value = json.loads((work.root / "runs/nextqa_tree" / name).read_text())
    return Rollout.model_validate({k: v for k, v in value.items() if k in Rollout.model_fields}).rows


def holding(text: str, work: Project) -> list[Path]:
    """Files of the project and of its cache with `text` in their name or content."""
    places = (work.root, Path(work.env["SKILLMAKE_CACHE"]))
    found = [path for place in places for path in place.rglob("*")]
    return [p for p in found if text in str(p) or (p.is_file() and text.encode() in p.read_bytes())]


def test_a_tree_agent_trains_over_http_and_tells_nobody_its_key(
    project: Callable[[str], Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = project("work")
    write_films(work.root / "films", 24)
    # A teacher that knows only what helps: what is shown is the way of texts, traces and packs
    world = WorldConfig(useful_share=1.0, harmful_share=0.0, useless_share=0.0)
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with serve(ServerConfig(world=world, api_key=CANARY)) as (url, _):
        work.params(config(url))
        told = work.train("--printshellcmds", "--quiet", "progress")
        assert "python -m skillmake.job gate" in told
        assert CANARY not in told
        assert holding(CANARY, work) == []
        baseline = predictions(work, "data/baseline.json")
        assert len(baseline) == 72
        assert {row.stop_reason for row in baseline} == {"answered"}
        assert {step.tool for row in baseline for step in row.steps} >= {"search_captions", "read_node"}
        assert all(row.run and row.steps for row in baseline)
        diagnosis = json.loads((work.root / "runs/nextqa_tree/e01/s001/diagnosis.json").read_text())
        assert set(diagnosis["tools"]) >= {"search_captions", "read_node"}
        assert any(case["missed"] for case in diagnosis["skill"]["there"]["cases"])
        metrics = work.metrics()
        assert metrics["test"]["units"] > 0  # type: ignore[index]
        paid = len(work.paid())
        # A caption that changes is another question: only its runs are paid anew
        film = work.root / "films/videos/v00.json"
        film.write_text(film.read_text().replace("sits", "stands"))
        work.train()
        again = predictions(work, "data/baseline.json")
        changed = {new.question_id for old, new in zip(baseline, again, strict=True) if old.run != new.run}
        assert changed == {"v00-q", "v00-pa", "v00-pb"}
        assert len(work.paid()) > paid
