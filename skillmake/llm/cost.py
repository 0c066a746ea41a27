"""Usage and cost: a log line per call, and hard caps that hold for the whole run."""

import errno
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from skillmake.artifacts import canonical
from skillmake.errors import TrainingAborted, notice, storing
from skillmake.llm.types import ChatResponse, Role
from skillmake.locks import locked
from skillmake.workspace import STARTED

FILE = "spent.json"


@dataclass(frozen=True)
class Price:
    """Money per million tokens."""

    prompt: float = 0.0
    answer: float = 0.0

    def of(self, response: ChatResponse) -> float:
        return (self.prompt * response.prompt_tokens + self.answer * response.completion_tokens) / 1e6


@dataclass(frozen=True)
class Caps:
    """Most paid calls, tokens, money and seconds of a run; None is no cap."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


_HERE = repr(time.time())  # when this command began, if it is no job


@dataclass
class Spent:
    """What a run has paid. `sessions`: seconds of each of its commands, up to its last call."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    sessions: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(self.sessions.values())

    def __str__(self) -> str:
        return f"{self.calls:,} calls, {self.tokens:,} tokens, {self.cost:.2f} money, {self.seconds:,.0f} s"

    @classmethod
    def read(cls, log_dir: Path) -> "Spent":
        """From the run's log folder; a damaged count is told and begins anew."""
        if not (log_dir / FILE).exists():
            return cls()
        with locked(log_dir / FILE) as file:
            return cls.of(file.read(), log_dir / FILE)

    @classmethod
    def of(cls, text: bytes, path: Path) -> "Spent":
        """From the content of the file at `path`; it is empty when it has just been made."""
        try:
            return cls(**json.loads(text)) if text else cls()
        except (ValueError, TypeError):
            notice(f"{path}: damaged; what the run has spent is counted from 0 again")
            return cls()


class Meter:
    """Counts what a run pays, in `spent.json` of its log folder, and refuses a call beyond a cap.

    Logs hold wall time and are outside of everything that is hashed.
    """

    def __init__(self, log_dir: Path, caps: Caps, log_name: str) -> None:
        self._dir, self._caps = log_dir, caps
        self._log = log_dir / "calls" / f"{log_name}.jsonl"

    def reserve(self) -> None:
        """Count one call before it is sent; raises TrainingAborted at a cap."""
        with self._counting() as spent:
            for what, cap in asdict(self._caps).items():
                so_far = getattr(spent, what)
                if cap is not None and so_far >= cap:
                    raise TrainingAborted(
                        f"limits.max_{what}: {so_far:g} of {cap:g} are spent",
                        "raise the limit and run the same command: it continues where it stopped",
                    )
            spent.calls += 1

    def pay(self, response: ChatResponse, price: Price) -> None:
        """Add the tokens and the money of a call that was answered."""
        with self._counting() as spent:
            spent.tokens += response.prompt_tokens + response.completion_tokens
            spent.cost += price.of(response)

    @contextmanager
    def _counting(self) -> Iterator[Spent]:
        """Read, change and write the count; no other process does so meanwhile.

        The jobs of a step meet here twice per call, so it is written in place, which is ten times faster than
        anew. Padded with blanks it never gets shorter: a killed process leaves the old text or the new one.
        """
        path = self._dir / FILE
        with storing(path):
            self._dir.mkdir(parents=True, exist_ok=True)
            with locked(path) as file:
                before = file.read()
                spent = Spent.of(before, path)
                started = os.environ.get(STARTED, _HERE)
                spent.sessions[started] = round(max(0.0, time.time() - float(started)), 3)
                yield spent
                file.seek(0)
                file.write(canonical(asdict(spent)).encode().ljust(len(before)))

    def log(self, role: Role, key: str, *, cached: bool, started: float, tries: int, row: Any) -> None:
        """Append one line to the job's call log; `started` by time.monotonic(), which nobody sets."""
        line = {
            "role": role,
            "key": key,
            "cached": cached,
            "tries": tries,
            "ended": round(time.time(), 4),
            "seconds": round(time.monotonic() - started, 4),
            **row,
        }
        with storing(self._log):
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("ab", buffering=0) as file:
                end = file.tell()
                whole = json.dumps(line, sort_keys=True, ensure_ascii=False).encode() + b"\n"
                if file.write(whole) < len(whole):  # the disk is full: no half line stays
                    file.truncate(end)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
