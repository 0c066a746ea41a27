"""The pages of docs/ stay true: each command in them is run here or by the test named beside it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.integration.conftest import ROOT, Project
from tests.integration.test_readme import ELSEWHERE, commands

DOCS = ROOT / "docs"
# In the order in which a new user reads them
READ = ("quickstart", "benchmark", "endpoints", "gate", "dag")
# Pages with a test of their own
BY_PAGE = {
    "cli": "integration/test_lineage_of_a_run",
    "environments": "unit/test_environment_docs",
    "modes": "integration/test_modes",
    "report": "unit/test_report",
}
BY_TEST = {
    **ELSEWHERE,
    "make install": ".ci/run",
    "snakemake --cores 2": "test_dag",
    "snakemake --cores 2 --configfile configs/rehearsal.yaml": "test_model: every shipped configuration",
}
FENCE = re.compile(r"^```bash(.*)\n", re.MULTILINE)
FILE = re.compile(r"```yaml\n# file: (\S+)\n(.*?)```", re.DOTALL)


def test_every_command_of_the_docs_is_run_by_some_test() -> None:
    pages = {path.stem: path.read_text() for path in DOCS.glob("*.md")}
    for page, text in pages.items():
        fences = [found for found in FENCE.findall(text) if found]
        assert all(re.fullmatch(r" no-run: \w.+", fence) for fence in fences), page
        if page in BY_PAGE:
            assert (ROOT / "tests" / f"{BY_PAGE[page]}.py").exists()
        elif page not in READ:
            assert set(commands(f"docs/{page}.md")) <= set(BY_TEST), page
    assert set(READ) <= set(pages)


@pytest.mark.dag
def test_a_new_user_gets_from_an_own_csv_to_a_trained_skill(project: Callable[[str], Project]) -> None:
    """The pages from the first to the last; only the model is the rehearsal's, which takes seconds."""
    work = project("work")
    (work.root / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    seen = set(commands()) | set(BY_TEST)
    said = {}
    for page in READ:
        for name, text in FILE.findall((DOCS / f"{page}.md").read_text()):
            _write(work.root / name, text)
        for line in commands(f"docs/{page}.md"):
            if line not in seen:
                seen.add(line)
                said[line] = work.run("bash", "-c", line)
    assert said["skillmake check build/mine.jsonl"] == "100 questions, 100 units: all valid\n"
    assert "0 fail" in said["skillmake doctor params.yaml mine/config.yaml"]
    assert "sealed test: " in said["snakemake --cores 2 --configfile mine/config.yaml"]
    assert "skills version" in said["skillmake blame skills/money/SKILL.md --run mine"]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.name == "config.yaml":
        student = {"provider": "rehearsal", "model": "rehearsal-student"}
        text = yaml.safe_dump({**yaml.safe_load(text), "models": {"student": student}})
    path.write_text(text)
