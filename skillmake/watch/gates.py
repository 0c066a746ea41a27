"""The gates of a step: which wait, which climb, what the others have decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillmake.watch.files import Files, modified
from skillmake.watch.signs import Running

WORDS = {
    "accept": "accepted",
    "accept_provisional": "on probation",
    "reject": "rejected",
    "inconclusive": "inconclusive",
}


@dataclass(frozen=True)
class GateRow:
    """One task type of a step.

    `state`: `waits`, `evolves`, `climbs`, `lost`, `failed`, `skipped`, or the decision. `most`: units of the
    ladder; `e`: evidence so far, which decides at the end of a rung only; `confirm_at`: what confirms.
    """

    type_slug: str
    state: str
    note: str = ""
    rung: str = ""
    units: int | None = None
    most: int | None = None
    wins: int | None = None
    losses: int | None = None
    e: float | None = None
    confirm_at: float | None = None


def gate_rows(files: Files, step_dir: Path, types: Sequence[str], jobs: Sequence[Running]) -> list[GateRow]:
    """A row for each type; `jobs`: those of this step that have begun and not ended well."""
    begun = {(job.rule, job.type_slug): job for job in jobs}
    since = modified(step_dir / "rollout.json")
    return [_row(files, step_dir, name, begun, since) for name in types]


def _row(
    files: Files,
    step_dir: Path,
    name: str,
    begun: Mapping[tuple[str, str], Running],
    since: float | None,
) -> GateRow:
    if (job := begun.get(("gate", name))) is not None:
        return _in_flight(name, job)
    if (job := begun.get(("evolve", name))) is not None:
        return GateRow(name, "evolves" if job.is_alive else "failed" if job.error else "lost")
    path = step_dir / "gate" / f"{name}.json"
    made = modified(path)
    # One from before this step's rollout is that of an earlier session
    if made is None or since is None or made < since:
        return GateRow(name, "waits")
    return files.part(path, "gate", lambda value: _decided(name, value)) or GateRow(name, "waits")


def _in_flight(name: str, job: Running) -> GateRow:
    state = "climbs" if job.is_alive else "failed" if job.error else "lost"
    said = job.progress
    return GateRow(
        name,
        state,
        rung=f"{said['rung']}/{said['rungs']}" if "rung" in said and "rungs" in said else "",
        units=said.get("n"),
        most=said.get("most"),
        wins=said.get("wins"),
        losses=said.get("losses"),
        e=said.get("e"),
        confirm_at=said.get("confirm_at"),
    )


def _decided(name: str, value: Mapping[str, Any]) -> GateRow:
    decision = value["decision"]
    if decision is None:
        return GateRow(name, "skipped", note=str(value["candidate"]["reason"]))
    numbers = decision["numbers"]
    return GateRow(
        name,
        WORDS.get(decision["action"], decision["action"]),
        note=decision["stop_reason"],
        units=numbers["n"],
        wins=numbers["wins"],
        losses=numbers["losses"],
        e=numbers["e"],
        confirm_at=decision["confirm_at"],
    )
