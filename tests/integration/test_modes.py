"""Beside training, starting again, and what a changed parameter re-runs: on one real run (SPEC §8)."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable

import pytest

from tests.integration.conftest import ROOT, Project
from tests.integration.test_readme import commands

pytestmark = pytest.mark.dag
BEFORE = {"questions", "pools", "seed", "baseline", "init"}  # what no decision below touches


def test_targets_decisions_structure_and_archive(project: Callable[[str], Project]) -> None:
    work = project("work")
    work.params({**work.values(), "run": "main"})
    work.change("train", epochs=1)
    work.train()
    before = work.artefacts()
    infer, evaluate, diagnose, diagnose_one, promote, second, archive, train = commands("docs/modes.md")

    answers_unlabelled_questions(work, infer)
    measures_a_version(work, evaluate)
    diagnoses_rollouts(work, diagnose, diagnose_one)
    work.run("bash", "-c", promote)
    assert {name: data for name, data in work.artefacts().items() if "/modes/" not in name} == before
    assert max(Counter(work.paid()).values()) == 1
    assert "Nothing to be done" in work.train()
    assert "all digests agree" in work.run("skillmake", "verify", "main")
    a_new_run_pays_no_baseline(work, second)

    refuses_what_must_not_begin(work)
    decisions_rerun_what_the_table_says(work)

    paid = work.paid()
    work.run("bash", "-c", archive)
    assert not (work.root / "runs/main").exists()
    work.run("bash", "-c", train)
    again = {name: data for name, data in work.artefacts().items() if name in before}
    assert again == before
    assert work.paid() == [], "the calls of the archived run are stored"
    kept = [path.read_text() for path in work.root.glob("runs/archive/main-1/log/calls/*.jsonl")]
    assert sum(text.count('"cached": false') for text in kept) == len(paid)


def answers_unlabelled_questions(work: Project, command: str) -> None:
    lines = (work.root / "runs/main/data/questions.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows[::2]:
        del row["answer"]
    (work.root / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)))
    assert "questions answered" in work.run("bash", "-c", command)
    found = (work.root / "runs/main/modes/infer/new/predictions.jsonl").read_text().splitlines()
    predictions = [json.loads(line) for line in found]
    assert [p["question_id"] for p in predictions] == [r["question_id"] for r in rows[::-1]][: len(found)]
    assert len({p["unit_id"] for p in predictions}) == 20
    unknown = {row["question_id"] for row in rows if "answer" not in row}
    assert all((p["right"] is None) == (p["question_id"] in unknown) for p in predictions)


def measures_a_version(work: Project, command: str) -> None:
    assert "95 % interval" in work.run("bash", "-c", command)
    report = json.loads((work.root / "runs/main/modes/eval/best/report.json").read_text())
    best = work.metrics()["validation"]
    validation = report["overall"]["validation"]
    assert isinstance(best, dict)
    assert validation["right"] / validation["units"] == pytest.approx(best["best"], abs=1e-6)


def diagnoses_rollouts(work: Project, whole: str, one: str) -> None:
    work.run("bash", "-c", whole)
    folder = work.root / "runs/main/modes/diagnose"
    step = json.loads((work.root / "runs/main/e01/s001/diagnosis.json").read_text())
    assert json.loads((folder / "01.001/diagnosis.json").read_text())["skill"] == step["skill"]
    assert "Rollouts: 01.001, 01.002" in (folder / "summary.md").read_text()
    assert "Rollouts: e01.end.validation." in work.run("bash", "-c", one)


def a_new_run_pays_no_baseline(work: Project, command: str) -> None:
    """Only the files up to the first state are asked for, with an empty cache."""
    cache, away = work.env["SKILLMAKE_CACHE"], work.env["SKILLMAKE_CACHE"] + "-away"
    shutil.move(cache, away)
    work.run("bash", "-c", command.replace("--cores 8", "--cores 8 runs/second/init/state.json"))
    assert list(work.root.glob("runs/second/log/calls/*")) == []
    shutil.rmtree(cache)
    shutil.move(away, cache)
    rows, promoted = (
        json.loads((work.root / name).read_text())["rows"]
        for name in ("runs/second/data/baseline.json", "runs/main/modes/eval/best/rollout.json")
    )
    assert [(row["prediction"], row["right"]) for row in rows] == [
        (r["prediction"], r["right"]) for r in promoted
    ]
    assert all(row["looked_up"] for row in rows)


def refuses_what_must_not_begin(work: Project) -> None:
    before = work.artefacts()
    prompt = work.root / "data/seed/prompts/system.md"
    text = prompt.read_text()
    prompt.write_text(text + "\nThink.\n")
    output = work.train("--config", "train={batch_size: 9}", ok=False)
    assert "runs/main was started with other structural parameters:\n  train.batch_size: 8 → 9\n" in output
    assert "  content of data/seed/prompts/system.md: sha256 " in output
    assert "skillmake archive main" in output
    prompt.write_text(text)
    assert "version: no parameter of diagnose" in work.train(
        "diagnose", "-F", "--config", "version=best", ok=False
    )
    assert "seeds/strong: is there already" in work.train(
        "promote", "--config", "version=seed", "name=strong", ok=False
    )
    assert work.artefacts() == before


def decisions_rerun_what_the_table_says(work: Project) -> None:
    shutil.copytree(ROOT / "docs", work.root / "docs")
    table = (ROOT / "docs" / "parameters.md").read_text()
    assert work.run("python", "docs/parameters.py") == table
    for section, key, value in (
        ("gate", "n_max", 7),
        ("slow", "gamma", 0.4),
        ("evolve", "fuzzy_threshold", 90),
    ):
        output = work.train("-n", "--config", f"{section}={{{key}: {value}}}")
        changed, following = rules(output, "params have changed"), rules(output, "input files updated")
        named = rules_in(table, section, key)
        assert changed, output
        assert changed <= named <= changed | following
        assert not (changed | following) & BEFORE
        assert ("gate" in changed | following) == (section != "slow")
    assert "Nothing to be done" in work.train("-n", "--config", "limits={retries: 1}")


def rules(output: str, reason: str) -> set[str]:
    """Rules that would run for `reason`, as a dry run tells."""
    found = re.search(rf"{reason}[^\n]*:\n +([^\n]+)", output)
    return set(found[1].split(", ")) if found else set()


def rules_in(table: str, section: str, key: str) -> set[str]:
    """Rules that the page names for a parameter, for a run with `evolve.teacher: llm`."""
    (part,) = (part for part in table.split("\n## ") if part.startswith(f"{section}\n"))
    (row,) = (line for line in part.splitlines() if f"`{key}`" in line)
    return set(re.findall(r"`(\w+)`(?! \((?!llm))", row.split("|")[3]))
