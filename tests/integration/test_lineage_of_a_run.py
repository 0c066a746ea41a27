"""The commands of the README that explain a run, on a real one."""

import json
import re

import pytest

from skillmake.tables.catalog import ROWS
from skillmake.tables.read import read_table
from tests.integration.conftest import Project
from tests.integration.test_readme import commands

pytestmark = pytest.mark.dag
EXPLAIN = ("skillmake verify", "skillmake lineage", "skillmake blame", "skillmake diff")


def test_a_run_explains_itself_and_a_changed_byte_is_named(trained: Project) -> None:
    work = trained
    before = work.artefacts()
    changed = delivered_with_an_edit(work)
    written = [line for line in commands() if line.startswith(EXPLAIN)]
    assert [" ".join(line.split()[:2]) for line in written] == list(EXPLAIN)
    printed = [work.run("bash", "-c", line.replace("skills/intent/SKILL.md", changed)) for line in written]
    verified, lineage, blame, diff = printed
    assert verified.endswith("runs/main: all digests agree\n")
    metrics = json.loads((work.root / "metrics.json").read_text())["validation"]
    assert f"{metrics['best']:.3f}" in lineage
    assert f"{metrics['seed']:.3f}" in lineage
    # Every line that the seed had not has its edit, and every edit its gate
    new = [
        line for line in blame.splitlines() if line.startswith("[") and re.match(r"\[\d+\] +\d+(  |$)", line)
    ]
    assert new
    numbers = {line.split("]")[0] + "]" for line in new}
    told = [line for line in blame.splitlines() if line.startswith("[") and line not in new]
    assert {line.split("]")[0] + "]" for line in told} == numbers
    assert not any("no single edit" in line for line in told)
    assert blame.count("    gate ") == len(told)
    assert changed.removeprefix("skills/") in diff
    work.run("skillmake", "tables", "main")
    tables = {name: read_table(work.root / f"build/tables/main/{name}.jsonl") for name in ROWS}
    assert all(len(tables[name]) for name in ROWS)
    assert list(tables["llm_calls"]["key"][~tables["llm_calls"]["cached"]]) == work.paid()
    assert tables["shadow_gate"]["true_gain"].notna().all()
    said = {
        line: work.run("bash", "-c", line) for line in [*commands("docs/cli.md"), *commands("docs/report.md")]
    }
    assert (work.root / "build/report/main.html").stat().st_size > 100_000
    assert said["skillmake watch"].startswith("run main  finished after ")
    assert ", valid\n" in said["skillmake skills check data/triage/skills"]
    delivered, exported = work.root / "skills", work.root / "build/delivered"
    assert [p.relative_to(exported) for p in sorted(exported.rglob("*.md"))] == (
        [p.relative_to(delivered) for p in sorted(delivered.glob("*/SKILL.md"))]
    )
    for path in delivered.glob("*/SKILL.md"):
        assert (exported / path.relative_to(delivered)).read_bytes() == path.read_bytes()
    assert work.artefacts() == before, "explaining a run changes nothing"

    path = work.root / "runs" / "main" / "e01" / "s001" / "rollout.json"
    path.write_text(path.read_text().replace('"right": true', '"right": false', 1))
    message = work.run("skillmake", "verify", "main", ok=False)
    assert "runs/main/e01/s001/rollout.json: expected sha256 " in message
    assert "Traceback" not in message


def delivered_with_an_edit(work: Project) -> str:
    """A delivered skill that is not the seed's."""
    texts = json.loads((work.root / "runs" / "main" / "data" / "texts.json").read_text())
    for path, text in sorted(texts["skills"]["files"].items()):
        if (work.root / "skills" / path).read_text() != text:
            return f"skills/{path}"
    pytest.fail("the tiny world delivers the seed: nothing to explain")
