"""Calls of a run, from its logs: only what was added since the last look is read."""

import os
import re
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path

RECENT = 60.0  # seconds over which the rate is taken
LINE = re.compile(rb'"cached": (true|false).*?"ended": ([0-9.]+)')


@dataclass
class _Log:
    """What one log has said up to `offset`: when calls ended, paid and from the cache."""

    offset: int = 0
    paid: "array[float]" = field(default_factory=lambda: array("d"))
    cached: "array[float]" = field(default_factory=lambda: array("d"))
    errors: int = 0


@dataclass(frozen=True)
class Calls:
    """Counts over a run. `rate`: paid calls per second, of late."""

    paid: int = 0
    cached: int = 0
    errors: int = 0
    rate: float = 0.0


class CallLogs:
    """The call logs in a folder; a half-written line is left for the next look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs: dict[str, _Log] = {}

    def look(self) -> None:
        """Read what is new."""
        try:
            with os.scandir(self._folder) as entries:
                sizes = {e.name: e.stat().st_size for e in entries if e.name.endswith(".jsonl")}
        except OSError:
            return
        for name, size in sizes.items():
            log = self._logs.setdefault(name, _Log())
            if size < log.offset:  # deleted and begun again
                log = self._logs[name] = _Log()
            if size > log.offset:
                self._read(name, log)

    def _read(self, name: str, log: _Log) -> None:
        try:
            with (self._folder / name).open("rb") as file:
                file.seek(log.offset)
                new = file.read()
        except OSError:
            return
        whole = new[: new.rfind(b"\n") + 1]
        log.offset += len(whole)
        log.errors += whole.count(b'"error": ')
        for cached, ended in LINE.findall(whole):
            (log.cached if cached == b"true" else log.paid).append(float(ended))

    def counts(self, now: float, since: float) -> Calls:
        """All calls; the rate is that of the last seconds, or of those since `since` if they are fewer."""
        start = max(now - RECENT, since)
        recent = sum(_after(log.paid, start) for log in self._logs.values())
        return Calls(
            paid=sum(len(log.paid) for log in self._logs.values()),
            cached=sum(len(log.cached) for log in self._logs.values()),
            errors=sum(log.errors for log in self._logs.values()),
            rate=recent / max(now - start, 1.0),
        )

    def of_job(self, name: str, since: float) -> tuple[int, int]:
        """Paid and cached calls of a job since it started."""
        log = self._logs.get(f"{name}.jsonl", _Log())
        return _after(log.paid, since), _after(log.cached, since)


def _after(times: "array[float]", start: float) -> int:
    if not times or times[-1] < start:
        return 0
    return len(times) - bisect_left(times, start)
