"""Experiments in DVC's queue with two workers: what is paid is the union of their calls and not the sum.

    python -m benchmarks.dvc_queue > benchmarks/dvc_queue.md

A tiny known-truth world over HTTP, so that the endpoint counts what it answers. From a trained project, four
experiments with other values of gate.n_max are queued and run by two workers side by side.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from skillmake.config.load import overlay
from skillmake.packing import PACK
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import WorldConfig
from tests.integration.conftest import Project

N_MAX = (16, 24, 32, 40)
WORKERS = 2
WORLD = {"types": 2, "units_per_type": 60, "rules_per_type": 4, "rules_per_unit_max": 1}


@dataclass(frozen=True)
class Experiment:
    """A finished experiment with the keys of the calls that its results are made from."""

    name: str
    calls: frozenset[str]


def prepared(root: Path, url: str) -> Project:
    """A trained project, committed, whose models are at the endpoint."""
    work = Project(root)
    models = {
        role: {"provider": "openai", "model": f"rehearsal-{role}", "base_url": f"{url}/v1"}
        for role in ("student", "teacher", "judge")
    }
    change = {"models": models, "rehearsal": WORLD, "train": {"epochs": 1}, "gate": {"futility": 0.0}}
    work.params(overlay(work.values(), change))
    work.versioned()
    work.run("dvc", "repro")
    work.commit("trained")
    return work


def run_queue(work: Project) -> float:
    """Queue the experiments and run them all; gives the seconds that it took."""
    for n_max in N_MAX:
        work.run("dvc", "exp", "run", "--queue", "-n", f"n{n_max}", "-S", f"gate.n_max={n_max}")
    started = time.time()
    # Not with a pipe for its output: the workers keep it open for as long as they live
    command = ["dvc", "queue", "start", "--jobs", str(WORKERS)]
    subprocess.run(command, cwd=work.root, env=work.env, stdout=subprocess.DEVNULL, check=True)
    while "Running" in (status := work.run("dvc", "queue", "status")) or "Queued" in status:
        time.sleep(1)
    assert status.count("Success") == len(N_MAX), status
    return time.time() - started


def experiment(work: Project, name: str) -> Experiment:
    """One experiment as DVC has stored it."""
    pack = work.root.parent / f"{name}.{PACK}"
    work.run("dvc", "get", ".", PACK, "--rev", name, "-o", str(pack))
    return Experiment(name, calls_in(pack))


def calls_in(pack: Path) -> frozenset[str]:
    """Keys of all calls that the artefacts of a packed run name."""
    with tarfile.open(pack) as archive:
        names = [name for name in archive.getnames() if name.startswith("runs/") and name.endswith(".json")]
        values = [json.load(archive.extractfile(name)) for name in names]  # type: ignore[arg-type]
    return frozenset(_calls(values))


def _calls(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _calls(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key == "calls" and isinstance(part, list):
                yield from part
            else:
                yield from _calls(part)


def stats(url: str) -> dict[str, int]:
    with urlopen(f"{url}/stats") as answer:
        value: dict[str, int] = json.load(answer)
        return value


def report(trained: Experiment, found: list[Experiment], paid: int, again: int, seconds: float) -> str:
    """The numbers as Markdown."""
    new = {each.name: each.calls - trained.calls for each in found}
    union = frozenset().union(*new.values())
    rows = [f"| `gate.n_max={name[1:]}` | {len(calls)} |" for name, calls in new.items()]
    return "\n".join(
        [
            "# Experiments in the queue",
            "",
            f"`python -m benchmarks.dvc_queue`: {len(found)} experiments that start from a run of",
            f"{len(trained.calls)} calls, {WORKERS} workers, {seconds:.0f} s.",
            "",
            "| experiment | calls that the trained run does not have |",
            "| --- | ---: |",
            *rows,
            f"| sum | {sum(map(len, new.values()))} |",
            f"| union | {len(union)} |",
            f"| **paid**, as the endpoint counts | {paid} |",
            f"| **paid twice** | {again} |",
        ]
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as place, serve(ServerConfig(world=WorldConfig(**WORLD))) as (url, _):
        work = prepared(Path(place, "work"), url)
        before = stats(url)
        print("trained", before, file=sys.stderr)
        seconds = run_queue(work)
        after = stats(url)
        print("queue", after, file=sys.stderr)
        found = [experiment(work, f"n{n_max}") for n_max in N_MAX]
        trained = experiment(work, "HEAD")
        paid = after["keys_paid"] - before["keys_paid"]
        print(report(trained, found, paid, after["paid_again"], seconds))


if __name__ == "__main__":
    main()
