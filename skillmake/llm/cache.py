"""Call cache: one file per call, by content, shared by runs, experiments and users (DESIGN §3)."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import AsyncFileLock

from skillmake.artifacts import canonical_line, sha256, write_text
from skillmake.llm.types import ChatRequest, ChatResponse


def default_cache_dir() -> Path:
    """Where calls and step results are kept: $SKILLMAKE_CACHE, else the user's cache directory."""
    chosen = os.environ.get("SKILLMAKE_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("skillmake")


def call_key(identity: dict[str, Any], request: ChatRequest) -> str:
    """sha256 of everything that may change the answer: provider kind, model, request, replicate."""
    return sha256(canonical_line({"identity": identity, "request": asdict(request)}))


class CallCache:
    """`get`, `put` and a per-key lock under `root`; safe between processes.

    An entry whose digest does not fit is dropped, counted in `corrupt` and paid again.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.corrupt: list[str] = []

    def _path(self, key: str) -> Path:
        return self.root / "calls" / key[:2] / f"{key}.json"

    def get(self, key: str) -> ChatResponse | None:
        path = self._path(key)
        try:
            entry = json.loads(path.read_bytes())
            value = entry["response"]
            if entry["digest"] != sha256(canonical_line(value)):
                raise ValueError("digest")
            return ChatResponse(**{**value, "tool_calls": tuple(value["tool_calls"])})
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            self.corrupt.append(key)
            path.unlink(missing_ok=True)
            return None

    def put(self, key: str, response: ChatResponse) -> None:
        value = asdict(response)
        write_text(
            self._path(key),
            canonical_line({"response": value, "digest": sha256(canonical_line(value))}) + "\n",
        )

    @asynccontextmanager
    async def paying(self, key: str) -> AsyncIterator[None]:
        """Hold the right to pay this call: another process that asks the same waits, then reads."""
        place = self.root / "locks" / key[:2]
        place.mkdir(parents=True, exist_ok=True)
        # Without an executor: a task that is cancelled while it waits must not get the lock later on.
        async with AsyncFileLock(place / f"{key[:16]}.lock", run_in_executor=False):
            yield
