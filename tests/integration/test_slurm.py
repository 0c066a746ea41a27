"""A run whose jobs with calls go to a cluster: same bytes, same limits, and a killed job is made again."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests import slurm
from tests.integration.conftest import ROOT, Project

pytestmark = pytest.mark.dag
STEP = "runs/tiny/e01/s001/state.json"


def test_a_step_on_a_cluster_ends_like_one_on_this_machine(
    project: Callable[[str], Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, spread = project("alone"), project("spread")
    alone.train(STEP)
    for name, value in slurm.install(tmp_path / "bin").items():
        monkeypatch.setenv(name, value)

    submit = ["snakemake", "--workflow-profile", "profiles/slurm", "--seconds-between-status-checks", "1"]
    with monkeypatch.context() as killing:
        killing.setenv("SLURM_KILLS", "gate")
        told = spread.run(*submit, STEP, ok=False)
    jobs = {path.name: path.read_text() for path in (tmp_path / "bin/jobs").iterdir()}
    killed = [number for number, state in jobs.items() if state == "OUT_OF_MEMORY"]
    assert Counter(jobs.values()) == {"COMPLETED": 4, "OUT_OF_MEMORY": 2}
    for number in killed:
        assert f"Slurm job {number}: OUT_OF_MEMORY; see .snakemake/slurm/{number}.log" in told
        assert (spread.root / f".snakemake/slurm/{number}.log").exists()
    assert "Traceback" not in told

    spread.run(*submit, STEP)
    assert spread.artefacts() == alone.artefacts()
    assert set(spread.paid()) == set(alone.paid())
    # On the nodes as well a call needs one of the run's slots, and the time is that of the two commands
    log = spread.root / "runs/tiny/log"
    assert json.loads((log / "session.json").read_text())["slots"] == 2
    assert (log / "slots").exists()
    assert len(json.loads((log / "spent.json").read_text())["sessions"]) == 2


def test_the_profile_of_a_cluster_differs_only_in_what_a_cluster_needs() -> None:
    here, there = (
        yaml.safe_load((ROOT / f"profiles/{name}/profile.yaml").read_text()) for name in ("default", "slurm")
    )
    assert {key: there[key] for key in here if key != "latency-wait"} == {
        key: value for key, value in here.items() if key != "latency-wait"
    }
