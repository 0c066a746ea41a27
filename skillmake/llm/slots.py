"""The calls that a whole run may have in flight, shared by its jobs as they need them."""

import fcntl
import os
from functools import cache
from pathlib import Path

from skillmake.errors import storing


class Slots:
    """`size` slots in a file. A process holds slot k by a lock on byte k; the kernel drops it when it dies.

    The locks belong to the process and not to its open files, and to close any of these drops all of them: so
    there is one object per file and process (`slots_at`), and its file stays open.
    """

    def __init__(self, path: Path, size: int) -> None:
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        # Processes that look at different slots first seldom meet
        self._order = [(os.getpid() + k) % size for k in range(size)]
        self._mine: set[int] = set()

    def take(self) -> int | None:
        """A free slot, which is then ours; None when there is none."""
        for slot in self._order:
            if slot not in self._mine and self._lock(slot):
                self._mine.add(slot)
                return slot
        return None

    def give_back(self, slot: int) -> None:
        """Let another call have it."""
        self._mine.remove(slot)
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, slot)

    def _lock(self, slot: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
        except (BlockingIOError, PermissionError):  # which of the two is the system's choice
            return False
        return True


@cache
def slots_at(path: Path, size: int) -> Slots:
    """The slots in the file at `path`, one object for the whole process."""
    return Slots(path, size)
