"""Usage and cost: a log line per call, and hard caps that hold for the whole run."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from skillmake.artifacts import write_text
from skillmake.errors import TrainingAborted
from skillmake.llm.types import ChatResponse, Role


@dataclass(frozen=True)
class Price:
    """Money per million tokens."""

    prompt: float = 0.0
    answer: float = 0.0

    def of(self, response: ChatResponse) -> float:
        return (self.prompt * response.prompt_tokens + self.answer * response.completion_tokens) / 1e6


@dataclass(frozen=True)
class Caps:
    """Most paid calls, tokens and money of a run; None is no cap."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None


class Meter:
    """Counts what a run pays, in `spent.json` of its log folder, and refuses a call beyond a cap.

    Logs hold wall time and are outside of everything that is hashed.
    """

    def __init__(self, log_dir: Path, caps: Caps, log_name: str) -> None:
        self._dir, self._caps = log_dir, caps
        self._log = log_dir / "calls" / f"{log_name}.jsonl"
        self._spent = log_dir / "spent.json"

    def spent(self) -> dict[str, float]:
        try:
            return dict(json.loads(self._spent.read_text()))
        except (FileNotFoundError, ValueError):
            return {"calls": 0, "tokens": 0, "cost": 0.0}

    def reserve(self) -> None:
        """Count one call before it is sent; raises TrainingAborted at a cap."""
        self._dir.mkdir(parents=True, exist_ok=True)
        with FileLock(self._dir / "spent.lock"):
            spent = self.spent()
            caps: Mapping[str, float | None] = {
                "calls": self._caps.calls,
                "tokens": self._caps.tokens,
                "cost": self._caps.cost,
            }
            for what, cap in caps.items():
                if cap is not None and spent[what] >= cap:
                    raise TrainingAborted(
                        f"limits.max_{what}: {spent[what]:g} of {cap:g} are spent",
                        "raise the limit and run the same command: it continues where it stopped",
                    )
            write_text(self._spent, json.dumps({**spent, "calls": spent["calls"] + 1}))

    def pay(self, response: ChatResponse, price: Price) -> None:
        """Add the tokens and the money of a call that was answered."""
        with FileLock(self._dir / "spent.lock"):
            spent = self.spent()
            spent["tokens"] += response.prompt_tokens + response.completion_tokens
            spent["cost"] += price.of(response)
            write_text(self._spent, json.dumps(spent))

    def log(self, role: Role, key: str, *, cached: bool, started: float, tries: int, row: Any) -> None:
        """Append one line to the job's call log; `started` by time.monotonic(), which nobody sets."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        line = {
            "role": role,
            "key": key,
            "cached": cached,
            "tries": tries,
            "ended": round(time.time(), 4),
            "seconds": round(time.monotonic() - started, 4),
            **row,
        }
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, sort_keys=True, ensure_ascii=False) + "\n")
