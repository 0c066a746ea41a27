"""What configs/nextqa_tree.yaml learns on real captions, over HTTP from a server of the rehearsal world.

    python -m benchmarks.nextqa_tree DATA > benchmarks/nextqa_tree.md

DATA holds captions_1fps.json, questions.csv and videohallucer_twins.json. Six minutes
on two idle cores. The student is no model but follows the habits that its texts ask for
(skillmake/rehearsal/looker.py); captions and questions are real.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import yaml

from benchmarks.over_http import ROOT, checkout, models, served, snakemake
from skillmake.agent.loop import Prediction
from skillmake.artifacts import read_json, read_model
from skillmake.config.load import overlay
from skillmake.metrics import paired_gain
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.questions import load_questions
from skillmake.rollout import Rollout
from skillmake.slow import Validation
from skillmake.state import outcomes_by_unit
from skillmake.tables.read import gather, read_table
from skillmake.units import make_units

CONFIG = "configs/nextqa_tree.yaml"
TWINS = "twin "  # the beginning of the task types of the pairs
COLUMNS = """\
| task type | units | seed | delivered | gain | 95 % interval |
| --- | ---: | ---: | ---: | ---: | --- |"""


@dataclass(frozen=True)
class Trained:
    """A finished run: its folder, its calls, and how long it took."""

    run: Path
    metrics: Mapping[str, Any]
    calls: pd.DataFrame
    seconds: float


def train(folder: Path, data: Path, cores: int) -> Trained:
    """Import the data into a copy of the project and train there."""
    work = checkout(folder)
    files = (data / "captions_1fps.json", "--questions", data / "questions.csv")
    command = (
        "import-tree",
        *files,
        "--twins",
        data / "videohallucer_twins.json",
        "--out",
        "build/nextqa_tree",
    )
    module = (sys.executable, "-m", "skillmake.cli")
    subprocess.run((*module, *map(str, command)), cwd=work, check=True, stdout=sys.stderr)
    value = overlay(*(yaml.safe_load((ROOT / name).read_text()) for name in ("params.yaml", CONFIG)))
    roles = ("student", "teacher", "judge")
    started = time.monotonic()
    with served(folder, value["rehearsal"]) as url:
        snakemake(work, overlay(value, {"models": models(url, *roles)}), cores)
    seconds = time.monotonic() - started
    run = work / "runs" / str(value["run"])
    gather(run, folder / "tables")
    return Trained(
        run, read_json(run / "metrics.json"), read_table(folder / "tables/llm_calls.jsonl"), seconds
    )


def row(name: str, found: Mapping[str, Any]) -> str:
    """A row of the accuracies."""
    low, high = found["gain_ci"]
    before, after = (found[side]["accuracy"] for side in ("seed", "delivered"))
    return (
        f"| {name} | {found['units']} | {before:.3f} | {after:.3f} | {found['gain']:+.3f} | "
        f"{low:+.3f} … {high:+.3f} |"
    )


def pair_rows(run: Path) -> Iterator[str]:
    """All pairs of a pool together, each one unit, with the seed and with the delivered texts."""
    questions = load_questions(run / "data/questions.jsonl")
    units = make_units(q for q in questions if q.task_type.startswith(TWINS))
    seed = outcomes_by_unit(units, read_model(run / "data/baseline.json", Rollout).rows)
    test = read_model(run / "final_test.json", Rollout)
    delivered = {"the sealed test": test.rows, "validation, which chose them": validated(run, test)}
    for name, rows in delivered.items():
        yield row(name, paired_gain(seed, outcomes_by_unit(units, rows), ("pairs", name)))


def validated(run: Path, of: Rollout) -> Sequence[Prediction]:
    """The full validation of a version: at the end of an epoch, before or with its new prompts."""
    ends = sorted(run.glob("e*/end"))
    found = [read_model(end / "validation.json", Validation) for end in ends]
    second = [read_model(end / "validation2.json", SecondValidation).slow_candidate for end in ends]
    known = [
        each for each in (*found, *second) if each and (each.skills, each.prompts) == (of.skills, of.prompts)
    ]
    return known[-1].rows if known else ()


def prompt_rows(run: Path) -> Iterator[str]:
    """What each epoch's end has tried in the prompts, and what became of it."""
    for end in sorted(run.glob("e*/end")):
        report = read_model(end / "prompts.json", PromptsReport)
        second = read_model(end / "validation2.json", SecondValidation)
        for candidate in report.candidates:
            for key, text in candidate.after.items():
                for line in new_lines(candidate.before[key], text):
                    reason = second.reason.rpartition(": ")[2]
                    name = "system prompt" if candidate.kind == "system" else f"{candidate.name} {key}"
                    yield f"| {int(end.parent.name[1:])} | {name} | {line} | {reason} | {second.verdict} |"


def skill_rows(work: Path) -> Iterator[str]:
    """What training has put into each delivered skill, guidance of the momentum block included."""
    seed = (ROOT / "data/tree/skills/default-strategy/SKILL.md").read_text()
    for path in sorted(work.glob("skills/*/SKILL.md")):
        body = path.read_text().split("---\n", 2)[2]
        if new := [line for line in new_lines(seed, body) if not line.startswith("<!--")]:
            yield f"| {path.parent.name} | {'<br>'.join(new)} |"


def new_lines(before: str, after: str) -> list[str]:
    """Lines of `after` that `before` does not hold."""
    return [line for line in after.splitlines() if line and line not in before.splitlines()]


HEAD = """\
# Real captions, over HTTP

`python -m benchmarks.nextqa_tree DATA`: `{config}`, 565 NExT-QA questions and 76 clip pairs of 62 videos.
Every role is played by a server of the rehearsal world. The student is no model: it searches, reads and
answers by the words that it read, and does what skill, system prompt and tool prompts ask for, where it knows
the sentence. So the gain is real on these questions, but says nothing about a language model's.

{epochs} epochs, {steps} steps, {tried} candidates at the gate, {accepted} accepted, {provisional} on
probation. {calls:,} calls ({student:,} student, {teacher:,} teacher, {judge:,} judge) in {minutes:.1f}
minutes on {cores} cores, from an empty cache; {cached:,} more were answered by the cache.

## Sealed test, in units
"""


def report(data: Path, cores: int) -> Iterator[str]:
    """Lines of the Markdown report."""
    with TemporaryDirectory() as folder:
        done = train(Path(folder), data, cores)
        metrics, paid = done.metrics, done.calls[~done.calls["cached"]]
        numbers = {**metrics["edits"], **paid["role"].value_counts().to_dict(), "calls": len(paid)}
        numbers |= {"epochs": metrics["epochs"], "steps": metrics["steps"], "config": CONFIG}
        numbers |= {"cached": len(done.calls) - len(paid), "minutes": done.seconds / 60}
        yield HEAD.format(**numbers, cores=os.cpu_count())
        yield COLUMNS
        test = metrics["test"]
        yield from (row(name, found) for name, found in sorted(test["by_type"].items()))
        yield row("all", test)
        yield "\nAll pairs together; a pair is right only if both of its questions are:\n"
        yield COLUMNS.replace("task type", "pairs of")
        yield from pair_rows(done.run)
        yield "\n## System prompt and tools\n\n| epoch | text | new line | full validation | R2 |"
        yield "| ---: | --- | --- | --- | --- |"
        yield from prompt_rows(done.run)
        yield "\n## Skills\n\n| delivered skill | what was learnt |\n| --- | --- |"
        yield from skill_rows(done.run.parents[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with captions, questions and pairs")
    parser.add_argument("--cores", type=int, default=2, help="jobs at once")
    given = parser.parse_args()
    for each in report(given.data, given.cores):
        print(each, flush=True)
