"""DVC and Snakemake agree; experiments share what is paid; what DVC keeps is all that a clone needs."""

import json
import re
from collections.abc import Callable

import pytest

from tests.integration.conftest import Clone, Project

pytestmark = pytest.mark.dag


def test_experiments_fail_go_on_and_travel(project: Callable[[str], Project]) -> None:
    work = project("work")
    work.change("train", epochs=1)
    work.versioned()
    work.train()
    calls = work.paid()
    assert "Nothing to be done" in work.run("dvc", "repro")
    assert "up to date" in work.run("dvc", "status")
    assert work.paid() == calls
    work.commit("trained")
    trained = work.artefacts()

    # An experiment that stops at a cap, and goes on by the same command
    wide = ("dvc", "exp", "run", "-n", "wide", "-S", "gate.n_max=40", "-S", "evolve.edit_budget_start=1")
    stopped = work.run(*wide, "-S", f"limits.max_calls={len(calls) + 3}", ok=False)
    assert "limits.max_calls" in stopped
    assert len(work.paid()) == len(calls) + 3
    before = work.job_logs()
    work.run(*wide, "-S", "limits.max_calls=9999")
    made_again = {name for name, when in work.job_logs().items() if before.get(name) == when}
    assert {"e01.plan", "e01.s001.rollout"} <= made_again  # what was done before the cap stayed
    assert len(work.paid()) == len(set(work.paid()))
    assert "Nothing to be done" in work.train()
    new = work.artefacts()

    # The same one elsewhere: all that it needs is paid
    work.run("dvc", "exp", "run", "--temp", "-n", "apart", *wide[5:], "-S", "limits.max_calls=1")

    # What changed, in DVC's words
    assert {"wide", "apart"} <= set(re.findall(r'"name": "(\w+)"', work.run("dvc", "exp", "show", "--json")))
    params = json_of(work, "params")["params.yaml"]
    assert params["gate.n_max"] == {"old": 12, "new": 40, "diff": 28}
    metrics = json_of(work, "metrics")["metrics.json"]
    old = json.loads(work.run("git", "show", "HEAD:metrics.json"))["calls"]["student"]
    assert metrics["calls.student"]["old"] == old
    assert metrics["calls.student"]["new"] != old
    differing = {row["path"] for row in json.loads(work.run("dvc", "diff", "--json"))["modified"]}
    changed = {name for name, data in new.items() if name.startswith("skills/") and trained.get(name) != data}
    assert {name for name in differing if name.endswith(".md")} == changed
    assert "gates" in work.run("dvc", "plots", "diff", "--json", "HEAD")

    # In a clone that has no cache; back to the first version; and the experiment taken over
    work.commit("wide")
    work.run("dvc", "push")
    clone = Clone(work, "clone")
    clone.run("dvc", "pull")
    assert "Nothing to be done" in clone.train()
    assert clone.artefacts() == new
    assert clone.paid() == []
    work.run("git", "checkout", "-q", "HEAD~1")
    work.run("dvc", "checkout")
    paid = len(work.paid())
    assert "Nothing to be done" in work.train()
    assert len(work.paid()) == paid
    assert work.artefacts() == trained
    work.run("dvc", "exp", "apply", "apart")
    assert "Nothing to be done" in work.train()
    assert len(work.paid()) == paid
    assert work.artefacts() == new


def json_of(work: Project, what: str) -> dict[str, dict[str, dict[str, object]]]:
    """`dvc params diff` or `dvc metrics diff` of the workspace."""
    value: dict[str, dict[str, dict[str, object]]] = json.loads(work.run("dvc", what, "diff", "--json"))
    return value
