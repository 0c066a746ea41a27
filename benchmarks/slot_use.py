"""How many of the calls that may be in flight a training over HTTP really has in flight.

    python -m benchmarks.slot_use > benchmarks/slot_use.md

A quarter of an hour on two idle cores. A server of the rehearsal world answers each call after a while, and
Snakemake trains three epochs from an empty cache; the numbers are those of the run's table `llm_calls`.
"""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import yaml

from benchmarks.over_http import ROOT, checkout, models, served, snakemake
from skillmake.config.load import overlay
from skillmake.tables.read import gather, read_table

SLOTS, TYPES, EPOCHS, JOBS = 32, 12, 3, 12
RULES = ("baseline", "rollout", "gate", "val_eval", "momentum", "final_test")


@dataclass(frozen=True)
class Case:
    """One training: seconds that each call takes; units of each type, of a batch, a ladder, a rung."""

    latency: float
    units: int
    batch: int
    n_max: int
    rung: int

    @property
    def world(self) -> dict[str, Any]:
        """The section `rehearsal`."""
        return {
            "types": TYPES,
            "units_per_type": self.units,
            "rules_per_type": 4,
            "rules_per_unit_max": 1,
            "useful_share": 0.5,
            "useless_share": 0.35,
            "harmful_share": 0.15,
        }

    def params(self, url: str) -> dict[str, Any]:
        """Parameters of the run with an endpoint."""
        changed = {
            "run": "slots",
            "data": {"questions": "rehearsal", "skills": "data/seed", "prompts": "data/seed/prompts"},
            "rehearsal": self.world,
            "train": {"epochs": EPOCHS, "batch_size": self.batch, "early_stop_patience": EPOCHS},
            "evolve": {"teacher": "llm", "edit_budget_start": 3, "edit_budget_end": 2},
            "gate": {"n_max": self.n_max, "rung": self.rung},
            "limits": {"slots": SLOTS, "gate_slots": SLOTS},
            "models": models(url, "student", "teacher"),
        }
        return overlay(yaml.safe_load((ROOT / "params.yaml").read_text()), changed)


SMALL = {"units": 60, "batch": 160, "n_max": 40, "rung": 10}
LARGE = {"units": 500, "batch": 1500, "n_max": 200, "rung": 50}
CASES = (Case(0.2, **LARGE), Case(0.2, **SMALL), Case(2.0, **SMALL))


def train(folder: Path, case: Case) -> pd.DataFrame:
    """The calls of a training in a copy of the project."""
    work = checkout(folder)
    with served(folder, case.world, case.latency) as url:
        snakemake(work, case.params(url), JOBS, "--resources", f"llm_slots={SLOTS}")
    gather(work / "runs" / "slots", folder / "tables")
    return read_table(folder / "tables" / "llm_calls.jsonl")


def windows(calls: pd.DataFrame) -> pd.DataFrame:
    """One row for each time in which a rule had calls in flight; the gates of a step are one."""
    paid = calls[~calls["cached"]].assign(started=calls["ended"] - calls["seconds"])
    groups = paid.groupby(["rule", "epoch", "step"], dropna=False)
    return groups.agg(
        calls=("key", "size"), busy=("seconds", "sum"), start=("started", "min"), end=("ended", "max")
    ).reset_index()


def line(rule: str, found: pd.DataFrame, latency: float) -> str:
    """A row of the report for the windows of a rule."""
    calls, busy = int(found["calls"].sum()), float(found["busy"].sum())
    time = float((found["end"] - found["start"]).sum())
    waves = sum(ceil(window / SLOTS) for window in found["calls"])
    cells = [rule, f"{len(found)}", f"{calls:,}", f"{time:.1f}", f"{waves * latency:.1f}"]
    cells += [f"{busy / calls:.2f}", f"{calls / SLOTS / waves:.2f}", f"{busy / SLOTS / time:.2f}"]
    return "| " + " | ".join(cells) + " |"


HEAD = f"""\
# Slot use over HTTP

`python -m benchmarks.slot_use`: {EPOCHS} epochs, {TYPES} types, {SLOTS} slots, {JOBS} jobs at once on
{os.cpu_count()} cores.

Use: time of calls in flight / (slots × time from a rule's first call to its last); the gates of a step count
as one rule. At most: what full waves of {SLOTS} calls and a last one that is not full would give, in the
seconds of "waves". Latency is what the client saw, its own work and waiting for a processor included."""
CASE = """
## {latency:g} s per call, {units} units of each type

Batches of {batch:,} units, ladders of at most {n_max} in rungs of {rung}.
"""
COLUMNS = """\
| rule | times | calls | seconds | waves | latency | at most | use |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def report() -> Iterator[str]:
    """Lines of the Markdown report."""
    yield HEAD
    for case in CASES:
        with TemporaryDirectory() as folder:
            found = windows(train(Path(folder), case))
        yield CASE.format(**asdict(case))
        yield COLUMNS
        for rule in RULES:
            if len(own := found[found["rule"] == rule]):
                yield line(rule, own, case.latency)


if __name__ == "__main__":
    for each in report():
        print(each, flush=True)
