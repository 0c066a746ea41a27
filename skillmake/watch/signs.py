"""Signs of life: the session of Snakemake and the jobs that run (see `skillmake.pulse`)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillmake.pulse import BEAT, RUNNING, SESSION
from skillmake.watch.files import Files, modified, names

STALE = 6 * BEAT  # seconds without a sign of life after which a job on another machine counts as lost


@dataclass(frozen=True)
class Session:
    """One start of Snakemake. `how` it ended (see `pulse.How`); None as long as nobody has said."""

    host: str
    pid: int
    started: float
    epochs: int
    caps: Mapping[str, float | None]
    how: str | None
    ended: float | None

    @property
    def is_here(self) -> bool:
        return self.host == os.uname().nodename

    @property
    def is_alive(self) -> bool:
        """Whether its process runs; of another machine nobody can tell from here."""
        return self.how is None and self.is_here and is_running(self.pid)


@dataclass(frozen=True)
class Running:
    """A job. `seen`: its last sign of life; `error`: why it failed; `is_alive`: whether it still runs."""

    name: str
    rule: str
    epoch: int
    step: int
    type_slug: str
    started: float
    seen: float
    progress: Mapping[str, Any]
    error: str
    is_alive: bool


def read_session(files: Files, log_dir: Path) -> Session | None:
    return files.part(log_dir / SESSION, "session", _session)


def _session(value: Any) -> Session:
    return Session(
        host=str(value["host"]),
        pid=int(value["pid"]),
        started=float(value["started"]),
        epochs=int(value["epochs"]),
        caps=dict(value["caps"]),
        how=value["how"],
        ended=value.get("ended"),
    )


def read_running(files: Files, log_dir: Path, now: float) -> list[Running]:
    """Jobs that have begun and not ended well, in order of their start."""
    found = []
    for path in names(log_dir / RUNNING, "[!.]*.json"):
        said, seen = files.part(path, "job", dict), modified(path)
        if said is not None and seen is not None:
            try:
                found.append(_running(path.stem, said, seen, now))
            except (LookupError, TypeError, ValueError, AttributeError):
                continue
    return sorted(found, key=lambda job: (job.started, job.name))


def _running(name: str, said: Mapping[str, Any], seen: float, now: float) -> Running:
    wildcards, error = said["wildcards"], str(said.get("error", ""))
    here = said["host"] == os.uname().nodename
    alive = is_running(int(said["pid"])) if here else now - seen < STALE
    return Running(
        name=name,
        rule=str(said["rule"]),
        epoch=int(wildcards.get("e", 0)),
        step=int(wildcards.get("s", 0)),
        type_slug=str(wildcards.get("t", "")),
        started=float(said["started"]),
        seen=seen,
        progress=dict(said.get("progress", {})),
        error=error,
        is_alive=alive and not error,
    )


def is_running(pid: int) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
