"""Call cache: one file per call, by content, shared by runs, experiments and users (DESIGN §3)."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from skillmake.artifacts import canonical_line, sha256
from skillmake.errors import notice, storing
from skillmake.llm.types import ChatRequest, ChatResponse
from skillmake.locks import locked_async

# An answer's bytes: at most so many for each token it may have, and the rest of the entry.
BYTES_PER_TOKEN, REST = 16, 4096


def call_key(identity: dict[str, Any], request: ChatRequest) -> str:
    """sha256 of everything that may change the answer: provider kind, model, request, replicate."""
    return sha256(canonical_line({"identity": identity, "request": vars(request)}))


class CallCache:
    """`get`, `room` and a per-key lock under `root`; safe between processes.

    An entry whose digest does not fit is told, dropped and paid again.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

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
            notice(f"{path}: this answer was damaged; it is asked for again")
            path.unlink(missing_ok=True)
            return None

    @contextmanager
    def room(self, key: str, max_tokens: int) -> Iterator[Callable[[ChatResponse], None]]:
        """Take room on the disk before a call is paid; gives the function that keeps its answer there.

        Only the holder of `paying` may do so. Raises StorageError when there is no room: then nothing was
        paid; an answer that does not fit after all is a StorageError as well.
        """
        path = self._path(key)
        # One name per key: what a killed process has left is written over by the next payer
        place = path.with_name(f".{key}.room")

        def keep(response: ChatResponse) -> None:
            value = asdict(response)
            line = canonical_line({"response": value, "digest": sha256(canonical_line(value))}) + "\n"
            with storing(path), place.open("rb+") as file:
                file.write(line.encode())
                file.truncate()
            place.replace(path)

        try:
            with storing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(bytes(BYTES_PER_TOKEN * max_tokens + REST))
            yield keep
        finally:
            place.unlink(missing_ok=True)

    @asynccontextmanager
    async def paying(self, key: str) -> AsyncIterator[None]:
        """Hold the right to pay this call: another process that asks the same waits, then reads."""
        place = self.root / "locks" / key[:2]
        with storing(place):
            place.mkdir(parents=True, exist_ok=True)
        async with locked_async(place / f"{key[:16]}.lock"):
            yield
