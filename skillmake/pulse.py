"""What a run says of itself while it runs, for `skillmake watch`; outside of everything that is hashed.

`log/session.json`: what Snakemake was started for and how it ended; touched every few seconds as a sign of
life, also while all jobs wait in the queue of a cluster. `log/running/<job>.json`: there while a job runs,
written anew as often; it stays behind a job that failed or was killed. Nothing here may stop a job: where a
file cannot be written, nobody watches.
"""

import json
import os
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from skillmake.errors import DataError, StorageError
from skillmake.files import write_text
from skillmake.workspace import STARTED

if TYPE_CHECKING:
    from skillmake.config.models import Config

BEAT = 5.0  # seconds between two signs of life
LEAST_PAUSE = 0.5  # seconds between two writes of progress
LONGEST_ERROR = 400  # characters
SESSION, RUNNING = "session.json", "running"
# `ended`: well, but it was not for the whole training
How = Literal["finished", "failed", "ended"]
ROLES, PRICED = ("student", "teacher", "judge"), {"model", "price_in", "price_out"}  # for `skillmake report`


class Pulse:
    """The sign of life of one job, as a context: `tell` says how far it is."""

    def __init__(self, log_dir: Path, name: str, rule: str, wildcards: Mapping[str, str]) -> None:
        self._path = log_dir / RUNNING / f"{name}.json"
        self._said: dict[str, Any] = {"rule": rule, "wildcards": dict(wildcards), **_process()}
        self._last = 0.0
        self._lock, self._end = threading.Lock(), threading.Event()

    def __enter__(self) -> "Pulse":
        self._write()
        threading.Thread(target=self._beat, name="pulse", daemon=True).start()
        return self

    def tell(self, progress: Mapping[str, Any]) -> None:
        """Say how far the job is; what comes too fast is told with the next sign of life."""
        self._said["progress"] = dict(progress)
        if time.monotonic() - self._last >= LEAST_PAUSE:
            self._write()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        with self._lock:
            self._end.set()
        if error is None:
            with suppress(OSError):
                self._path.unlink()
        elif isinstance(error, Exception):
            self._said["error"] = (str(error) or type(error).__name__)[:LONGEST_ERROR]
            self._put()

    def _beat(self) -> None:
        while not self._end.wait(BEAT):
            self._write()

    def _write(self) -> None:
        with self._lock:
            if not self._end.is_set():
                self._put()

    def _put(self) -> None:
        self._last = time.monotonic()
        with suppress(StorageError):
            write_text(self._path, json.dumps(self._said))


def begin_session(run_dir: Path, config: "Config", slots: int | None = None) -> threading.Event:
    """Snakemake starts to work on the run: what jobs of an earlier session have left is no sign of life.

    `slots`: calls in flight in the whole run. Gives what ends the sign of life, for `end_session`.
    """
    caps = {name: getattr(config.limits, f"max_{name}") for name in ("calls", "tokens", "cost", "seconds")}
    models = config.models.model_dump(mode="json", include=dict.fromkeys(ROLES, PRICED))
    shutil.rmtree(run_dir / "log" / RUNNING, ignore_errors=True)
    told = {"epochs": config.train.epochs, "caps": caps, "models": models, "slots": slots, "how": None}
    _say(run_dir, {**_process(), **told, STARTED: os.environ.get(STARTED)})
    ended = threading.Event()
    beat = threading.Thread(target=_touch, args=[run_dir / "log" / SESSION, ended], name="pulse", daemon=True)
    beat.start()
    return ended


def join_session(run_dir: Path) -> int | None:
    """Calls in flight in the whole run, for a Snakemake that a cluster starts for a single job; its time is
    that of the session from now on. Raises DataError where this machine does not see the run."""
    path = run_dir / "log" / SESSION
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        slots: int | None = said["slots"]
        os.environ[STARTED] = said[STARTED]
    except (OSError, ValueError, LookupError, TypeError):
        raise DataError(
            f"{os.uname().nodename}: {path} cannot be read",
            "this machine must see the project's directory at the same place; see docs/scale.md",
        ) from None
    return slots


def end_session(run_dir: Path, how: How, beat: threading.Event | None = None) -> None:
    """Snakemake has ended; a killed one cannot say so. `beat`: what its `begin_session` gave."""
    if beat is not None:
        beat.set()
    with suppress(OSError, ValueError, TypeError, KeyError):
        said = json.loads((run_dir / "log" / SESSION).read_text(encoding="utf-8"))
        if said["how"] != how:
            _say(run_dir, {**said, "how": how, "ended": time.time()})


def _touch(path: Path, ended: threading.Event) -> None:
    while not ended.wait(BEAT):
        with suppress(OSError):
            os.utime(path)


def _say(run_dir: Path, value: Mapping[str, Any]) -> None:
    with suppress(StorageError):
        write_text(run_dir / "log" / SESSION, json.dumps(value))


def _process() -> dict[str, Any]:
    return {"host": os.uname().nodename, "pid": os.getpid(), "started": time.time()}
