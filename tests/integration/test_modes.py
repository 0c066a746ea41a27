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
PAGE = ROOT / "docs" / "parameters.md"
BEFORE = {"questions", "pools", "seed", "baseline", "init"}  # what no decision below touches


def test_targets_beside_training_change_nothing_and_a_new_start_loses_nothing(trained: Project) -> None:
    work = trained
    before = work.artefacts()
    infer, evaluate, diagnose, promote, second, archive, train, look = commands("docs/modes.md")
    assert train == "snakemake --cores 8"

    answers_unlabelled_questions(work, infer)
    measures_a_version(work, evaluate)
    told = work.train("diagnose", "--config", "rollouts=runs/main/modes/infer/new/rollout.json")
    assert "Rollouts: modes.infer.new.rollout. " in told, "of twins only one has a known answer"
    work.run("bash", "-c", diagnose)
    step, again = (
        json.loads((work.root / "runs/main" / name / "diagnosis.json").read_text())
        for name in ("e01/s001", "modes/diagnose/01.001")
    )
    assert again["skill"] == step["skill"]
    work.run("bash", "-c", promote)
    assert {name: data for name, data in work.artefacts().items() if "/modes/" not in name} == before
    assert max(Counter(work.paid()).values()) == 1
    assert "Nothing to be done" in work.train()
    assert "all digests agree" in work.run("skillmake", "verify", "main")
    a_new_run_pays_no_baseline(work, second)

    refuses_what_must_not_begin(work)
    decisions_rerun_what_the_table_says(work, {"gate.n_max": look})

    work.run("bash", "-c", archive)
    assert not (work.root / "runs/main").exists()
    baseline = "runs/main/data/baseline.json"
    work.train(baseline)
    assert (work.root / baseline).read_bytes() == before[baseline]
    assert not list(work.root.glob("runs/main/log/calls/*")), "what the archived run paid is stored"
    kept = {name: data for name, data in work.artefacts().items() if name.startswith("runs/archive/main-1/")}
    names = {
        name: f"runs/archive/main-1/{name.removeprefix('runs/main/')}" for name in before if "runs/" in name
    }
    assert all(kept[there] == before[name] for name, there in names.items())


def test_the_page_of_parameters_is_the_generated_one(project: Callable[[str], Project]) -> None:
    work = project("work")
    shutil.copytree(PAGE.parent, work.root / "docs")
    assert work.run("python", "docs/parameters.py") == PAGE.read_text()


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


def a_new_run_pays_no_baseline(work: Project, command: str) -> None:
    """Only the files up to the first state are asked for, with an empty cache."""
    away = work.cache.rename(work.root.parent / "away")
    work.run("bash", "-c", command.replace("--cores 8", "--cores 8 runs/second/init/state.json"))
    assert list(work.root.glob("runs/second/log/calls/*")) == []
    shutil.rmtree(work.cache)
    away.rename(work.cache)
    rows, promoted = (
        json.loads((work.root / name).read_text())["rows"]
        for name in ("runs/second/data/baseline.json", "runs/main/modes/eval/best/rollout.json")
    )
    assert [(row["prediction"], row["right"]) for row in rows] == [
        (r["prediction"], r["right"]) for r in promoted
    ]
    assert all(row["looked_up"] for row in rows)
    lineage = work.run("skillmake", "lineage", "seed", "--run", "second")
    assert "The seed comes from seeds/strong, promoted as skills version " in lineage


def refuses_what_must_not_begin(work: Project) -> None:
    before = work.artefacts()
    prompt = work.root / "data/seed/prompts/system.md"
    text = prompt.read_text()
    prompt.write_text(text + "\nThink.\n")
    asked = ("--config", "train={batch_size: 9}")
    plan = work.root / "runs/main/e01/plan.json"
    plan.write_bytes(before["runs/main/e01/plan.json"] + b" ")
    dry = work.train("-n", *asked)
    assert plan.read_bytes().endswith(b" "), "who only looks sets nothing aside"
    plan.write_bytes(before["runs/main/e01/plan.json"])
    for output in (dry, work.train(*asked, ok=False)):
        assert "runs/main was started with other structural parameters:\n" in output
        assert "\n  train.batch_size: 8 → 9\n" in output
        assert "  content of data/seed/prompts/system.md: sha256 " in output
        assert "skillmake archive main" in output
    prompt.write_text(text)
    output = work.train("eval", "--config", "version=best", "first=3", ok=False)
    assert "first: no parameter of eval" in output, "also where there is nothing to do"
    output = work.train("infer", "--config", "questions=new.jsonl", "types=intent", ok=False)
    assert "modes.types: new.jsonl has no task type 'intent'." in output, "the answers there are stay"
    output = work.train("promote", "--config", "version=seed", "name=strong", ok=False)
    assert "seeds/strong: is there already: skills " in output
    output = work.train("--config", "run=third", "data={seed: stron}", ok=False)
    assert "seeds/stron: no such seed. Did you mean `strong`?" in output
    assert "rules/" not in output, "where in the code helps no user"
    assert work.artefacts() == before


def decisions_rerun_what_the_table_says(work: Project, commands: dict[str, str]) -> None:
    table = PAGE.read_text()
    other = "snakemake -n --quiet rules --config slow='{gamma: 0.4}' limits='{retries: 1}'"
    for parameter, command in {**commands, "slow.gamma": other}.items():
        section, key = parameter.split(".")
        output = work.run("bash", "-c", command)
        changed, following = rules(output, "params have changed"), rules(output, "input files updated")
        named = rules_in(table, section, key)
        assert changed, output
        assert changed <= named <= changed | following
        assert not (changed | following) & BEFORE
        assert ("gate" in changed) == (section == "gate")


def rules(output: str, reason: str) -> set[str]:
    """Rules that would run for `reason`, as a dry run tells."""
    found = re.search(rf"{reason}[^\n]*:\n +([^\n]+)", output)
    return set(found[1].split(", ")) if found else set()


def rules_in(table: str, section: str, key: str) -> set[str]:
    """Rules that the page names for a parameter, for a run with `evolve.teacher: llm`."""
    (part,) = (part for part in table.split("\n## ") if part.startswith(f"{section}\n"))
    _, runs_again = part.split("| changed | kind | runs again |")
    (row,) = (line for line in runs_again.splitlines() if f"`{key}`" in line)
    return set(re.findall(r"`(\w+)`(?! \((?!llm))", row.split("|")[3]))
