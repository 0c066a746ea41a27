"""DVC and Snakemake agree; an experiment pays nothing twice; versions can be compared."""

import json
from collections import Counter
from collections.abc import Callable

import pytest

from tests.integration.conftest import Project

pytestmark = pytest.mark.dag


def test_repro_experiment_and_diff(project: Callable[[str], Project]) -> None:
    work = project("work")
    for command in ("git init -q", "git config user.name t", "git config user.email t@example.org"):
        work.run(*command.split())
    work.run("dvc", "init", "-q")
    work.run("dvc", "config", "core.analytics", "false")
    (work.root / ".gitignore").write_text("/runs/\n/.snakemake/\n__pycache__/\n/skills\n/prompts-delivered\n")
    (work.root / ".dvcignore").write_text("__pycache__\n/runs\n/.snakemake\n")
    work.run("git", "add", ".")
    work.run("git", "commit", "-q", "-m", "start")
    work.train()
    calls = work.paid()
    assert "Nothing to be done" in work.run("dvc", "repro")
    assert "up to date" in work.run("dvc", "status")
    assert work.paid() == calls
    work.run("git", "add", ".")
    work.run("git", "commit", "-q", "-m", "trained")

    work.run("dvc", "exp", "run", "-S", "gate.n_max=40", "-n", "wide")
    assert max(Counter(work.paid()).values()) == 1
    assert "Nothing to be done" in work.train()
    table = json.loads(work.run("dvc", "exp", "show", "--json"))
    assert "wide" in json.dumps(table)
    work.run("git", "add", ".")
    work.run("git", "commit", "-q", "-m", "wide")
    differing = {
        path.split("/")[-2]
        for path in (line.strip() for line in work.run("dvc", "diff", "HEAD~1", "HEAD").splitlines())
        if path.endswith("SKILL.md")
    }
    old = json.loads(work.run("git", "show", "HEAD~1:metrics.json"))
    assert (differing != set()) or old["test"] == work.metrics()["test"]
    assert "test.gain" in work.run("dvc", "metrics", "show", "--md")
    work.run("dvc", "metrics", "diff", "HEAD~1")
