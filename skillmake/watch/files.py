"""Reading files that others are writing: what is missing, half-written or strange is just not there yet."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def modified(path: Path) -> float | None:
    """When a file was written last, in seconds since 1970."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def names(folder: Path, pattern: str) -> list[Path]:
    """Files in a folder, sorted by name."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


class Files:
    """Parts of JSON files, read again only when a file has changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[Path, str], tuple[tuple[int, int], Any]] = {}

    def part(self, path: Path, name: str, pick: Callable[[Any], T]) -> T | None:
        """`pick` of the JSON in `path`, kept under `name`; None where there is no such thing."""
        try:
            status = path.stat()
            state = (status.st_mtime_ns, status.st_size)
            known = self._known.get((path, name))
            if known is None or known[0] != state:
                known = (state, pick(json.loads(path.read_bytes())))
                self._known[path, name] = known
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        found: T = known[1]
        return found
