"""Experiments from the queue, apart and in the workspace: paid is the union of their calls, not the sum.

    python -m benchmarks.dvc_queue > benchmarks/dvc_queue.md

A tiny known-truth world over HTTP, so that the endpoint counts what it answers. From a trained project, four
experiments are queued and run by two workers side by side, then one with `--temp` and one in the workspace: a
longer ladder, with several values of what a candidate must show on it.
"""

import json
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

from skillmake.config.load import overlay
from skillmake.packing import PACK
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import WorldConfig
from skillmake.runs import objects
from tests.integration.conftest import Project

N_MAX = 40
QUEUED, APART, HERE = (1.1, 1.5, 2.0, 3.0), 1.3, 2.5  # values of gate.e_provisional
WORKERS = 2
WORLD = {"types": 2, "units_per_type": 60, "rules_per_type": 4, "rules_per_unit_max": 1}


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


def name_of(e_provisional: float) -> str:
    return f"e{e_provisional:g}".replace(".", "-")


def experiment(work: Project, e_provisional: float, *how: str) -> None:
    """Run or queue one experiment."""
    change = ("-S", f"gate.n_max={N_MAX}", "-S", f"gate.e_provisional={e_provisional}")
    work.run("dvc", "exp", "run", *how, "-n", name_of(e_provisional), *change)


def run_queue(work: Project) -> None:
    """Run all that are queued."""
    # Not with a pipe for its output: the workers keep it open for as long as they live
    command = ["dvc", "queue", "start", "--jobs", str(WORKERS)]
    subprocess.run(command, cwd=work.root, env=work.env, stdout=subprocess.DEVNULL, check=True)
    while "Running" in (status := work.run("dvc", "queue", "status")) or "Queued" in status:
        time.sleep(1)
    assert status.count("Success") == len(QUEUED), status


def calls_of(work: Project, revision: str) -> frozenset[str]:
    """Keys of the calls that the results of a revision are made from, as DVC has stored them."""
    pack = work.root.parent / f"{revision}.{PACK}"
    work.run("dvc", "get", ".", PACK, "--rev", revision, "-o", str(pack))
    return calls_in(pack)


def calls_in(pack: Path) -> frozenset[str]:
    """Keys of all calls that the artefacts of a packed run name."""
    with tarfile.open(pack) as archive:
        names = [name for name in archive.getnames() if name.startswith("runs/") and name.endswith(".json")]
        values = [json.load(archive.extractfile(name)) for name in names]  # type: ignore[arg-type]
    lists = [found["calls"] for found in objects(values) if isinstance(found.get("calls"), list)]
    return frozenset(key for calls in lists for key in calls)


def stats(url: str) -> dict[str, int]:
    with urlopen(f"{url}/stats") as answer:
        value: dict[str, int] = json.load(answer)
        return value


def report(trained: frozenset[str], found: dict[float, frozenset[str]], paid: int, again: int) -> str:
    """The numbers as Markdown."""
    new = {value: calls - trained for value, calls in found.items()}
    where = {**dict.fromkeys(QUEUED, "queue"), APART: "`--temp`", HERE: "workspace"}
    rows = [
        f"| `gate.e_provisional={value}` | {where[value]} | {len(calls)} |" for value, calls in new.items()
    ]
    return "\n".join(
        [
            "# Experiments share what they pay",
            "",
            f"`python -m benchmarks.dvc_queue`: {len(found)} experiments with `gate.n_max={N_MAX}` that",
            f"start from a run of {len(trained)} calls; the queue has {WORKERS} workers.",
            "",
            "| experiment | where | calls that the trained run does not have |",
            "| --- | --- | ---: |",
            *rows,
            f"| sum | | {sum(map(len, new.values()))} |",
            f"| union | | {len(frozenset().union(*new.values()))} |",
            f"| **paid**, as the endpoint counts | | {paid} |",
            f"| **paid twice** | | {again} |",
        ]
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as place, serve(ServerConfig(world=WorldConfig(**WORLD))) as (url, _):
        work = prepared(Path(place, "work"), url)
        before = stats(url)
        for value in QUEUED:
            experiment(work, value, "--queue")
        run_queue(work)
        experiment(work, APART, "--temp")
        experiment(work, HERE)
        after = stats(url)
        found = {value: calls_of(work, name_of(value)) for value in (*QUEUED, APART, HERE)}
        paid = after["calls"] - before["calls"]
        print(report(calls_of(work, "HEAD"), found, paid, after["calls"] - after["keys_paid"]))


if __name__ == "__main__":
    main()
