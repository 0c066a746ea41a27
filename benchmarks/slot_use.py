"""How much of the calls that may be in flight a training over HTTP really has in flight.

    python -m benchmarks.slot_use > benchmarks/slot_use.md

Some minutes on two cores. A server of the rehearsal world answers each call after 200 ms; Snakemake trains
three epochs with 32 slots. Everything is read from the call logs of the run (table `llm_calls`).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import yaml

from skillmake.artifacts import canonical, write_text
from skillmake.config.load import overlay
from skillmake.tables.read import gather, read_table

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "rules", "scripts", "skillmake", "profiles", "prompts", "data", "configs")
LATENCY, SLOTS, EPOCHS, CORES = 0.2, 32, 3, 16
RULES = ("baseline", "rollout", "gate", "val_eval", "momentum", "final_test")


@dataclass(frozen=True)
class Case:
    """A world, and how its steps are cut."""

    name: str
    types: int
    units_per_type: int
    batch_size: int
    rung: int

    def params(self, url: str) -> dict[str, Any]:
        """Parameters of the run, on top of params.yaml."""
        model = {"provider": "openai", "base_url": url}
        return {
            "run": "slots",
            "data": {"questions": "rehearsal", "skills": "data/seed", "prompts": "data/seed/prompts"},
            "models": {role: {**model, "model": f"rehearsal-{role}"} for role in ("student", "teacher")},
            "rehearsal": self.world,
            "train": {"epochs": EPOCHS, "batch_size": self.batch_size, "early_stop_patience": EPOCHS},
            "evolve": {"teacher": "llm", "edit_budget_start": 3, "edit_budget_end": 2},
            "gate": {"n_max": 40, "rung": self.rung},
            "limits": {"slots": SLOTS},
        }

    @property
    def world(self) -> dict[str, Any]:
        rules = {"rules_per_type": 4, "rules_per_unit_max": 1}
        shares = {"useful_share": 0.5, "useless_share": 0.35, "harmful_share": 0.15}
        return {"types": self.types, "units_per_type": self.units_per_type, **rules, **shares}


CASES = (
    Case("12 types", types=12, units_per_type=60, batch_size=160, rung=10),
    Case("32 types", types=32, units_per_type=48, batch_size=320, rung=10),
)


@contextmanager
def served(case: Case, folder: Path) -> Iterator[str]:
    """URL of a server of the case's world, in a process of its own."""
    write_text(folder / "world.json", canonical(case.world))
    command = ("-m", "skillmake.rehearsal.server", "--latency", f"{LATENCY}", "--world")
    server = subprocess.Popen(
        [sys.executable, *command, str(folder / "world.json")], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def train(case: Case, folder: Path) -> pd.DataFrame:
    """Train in a copy of the project with an empty cache; the calls of the run."""
    work = folder / "work"
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        work.mkdir(exist_ok=True)
        copy(ROOT / part, work / part)
    env = {**os.environ, "SKILLMAKE_CACHE": str(folder / "cache"), "PYTHONPATH": str(work)}
    with served(case, folder) as url:
        params = overlay(yaml.safe_load((ROOT / "params.yaml").read_text()), case.params(url))
        (work / "params.yaml").write_text(yaml.safe_dump(params))
        command = ("snakemake", "--cores", f"{CORES}", "--resources", f"llm_slots={SLOTS}")
        subprocess.run(command, cwd=work, env=env, check=True, stdout=sys.stderr)
    gather(work / "runs" / "slots", folder / "tables")
    return read_table(folder / "tables" / "llm_calls.jsonl")


def windows(calls: pd.DataFrame) -> pd.DataFrame:
    """One row per time in which a rule had calls in flight: of the gates of a step together."""
    paid = calls[~calls["cached"]].copy()
    paid["started"] = paid["ended"] - paid["seconds"]
    keys = paid[["rule", "epoch", "step"]].fillna(0)
    groups = paid.groupby([keys["rule"], keys["epoch"], keys["step"]])
    return groups.agg(
        calls=("key", "size"), busy=("seconds", "sum"), start=("started", "min"), end=("ended", "max")
    ).reset_index()


def line(rule: str, found: Mapping[str, pd.Series]) -> str:
    """A row of the report; use = busy slot time / (slots × time)."""
    calls, busy = int(found["calls"].sum()), float(found["busy"].sum())
    time = float((found["end"] - found["start"]).sum())
    ideal = calls * LATENCY / SLOTS
    cells = (rule, len(found["calls"]), f"{calls:,}", f"{time:.1f}", f"{ideal:.1f}")
    return "| " + " | ".join(map(str, (*cells, f"{busy / calls:.3f}", f"{busy / (SLOTS * time):.2f}"))) + " |"


HEAD = """\
# Slot use over HTTP

`python -m benchmarks.slot_use`: {epochs} epochs, {latency:g} s per call, {slots} slots, {cores} jobs on 2
cores. Use is the time that calls were in flight over slots × time, from a rule's first call to its last; the
gates of a step are one rule. Latency is what the client saw, of which {latency:g} s are the server's; the
ideal time is calls × {latency:g} s / slots."""
COLUMNS = """
| rule | times | calls | seconds | ideal | latency | use |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def report() -> Iterator[str]:
    """Lines of the Markdown report."""
    yield HEAD.format(epochs=EPOCHS, latency=LATENCY, slots=SLOTS, cores=CORES)
    for case in CASES:
        with TemporaryDirectory() as folder:
            found = windows(train(case, Path(folder)))
        yield f"\n## {case.name}, batches of {case.batch_size} units, rungs of {case.rung}"
        yield COLUMNS
        for rule in RULES:
            if (own := found[found["rule"] == rule]).size:
                yield line(rule, own)


if __name__ == "__main__":
    for each in report():
        print(each, flush=True)
