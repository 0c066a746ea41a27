"""Files that one process at a time may change; the kernel drops a lock when its process dies (flock)."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

from skillmake.errors import storing

POLL = 0.02  # seconds


@contextmanager
def locked(path: Path) -> Iterator[IO[bytes]]:
    """The file, made if it is missing, for reading and writing; other processes wait in line meanwhile."""
    with opened(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


@asynccontextmanager
async def locked_async(path: Path) -> AsyncIterator[None]:
    """The same, and other tasks go on while this one waits.

    No thread waits for it: a task that is cancelled meanwhile must not get the lock later on.
    """
    with opened(path) as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(POLL)
        yield


def opened(path: Path) -> IO[bytes]:
    """The file, made if it is missing; nothing of it is cut off or buffered."""
    with storing(path):
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0)
