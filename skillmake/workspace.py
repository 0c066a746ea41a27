"""The run's files on disk: one trainer per directory, no half-written file, nothing left over (DESIGN §4).

Snakemake's own lock survives a kill and its incomplete markers are ignored behind a checkpoint; this
module does both jobs. Where the file system has no flock (some cluster executors) locking is a no-op.
"""

import base64
import binascii
import fcntl
import os
import re
import shutil
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import IO

from skillmake.files import sha256, write_text

# Environment of a job: process id of the Snakemake that runs it, and when that began
PARENT, STARTED = "SKILLMAKE_PARENT", "SKILLMAKE_STARTED"
LOCK_FILE = Path(".snakemake") / "skillmake.lock"
STRUCTURE, MODES = "structure.json", "modes"  # of a run, and made by no rule of the training

LOOKS = re.compile(
    r"-[fFkpqt]*n[fFkpqt]*|--dry-?run|--lint|--l[tcipu]|--list-.*|--(d3)?dag|--(rule|file)graph|--report"
    r"|-[lSD]|--list|--(detailed-)?summary|--unlock|--print-compilation"
)


def set_environment(root: Path) -> None:
    """Let the jobs of this process find this Python and the package under `root`, and no other copy; and
    tell them whose jobs they are and since when."""
    os.environ[PARENT], os.environ[STARTED] = str(os.getpid()), repr(time.time())
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(root.resolve()), os.environ.get("PYTHONPATH")])
    )
    # To look for plugins, pydantic would read the metadata of every package at each start of a job
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def only_looks(arguments: Collection[str]) -> bool:
    """Whether Snakemake's arguments ask for no job: a dry run, a list, a picture of the DAG, a lint."""
    return any(LOOKS.fullmatch(argument) for argument in arguments)


def on_file(text: str, folder: Path) -> str:
    """`@` and the path of a file in `folder` that holds an argument too long for a command line."""
    path = folder / f"{sha256(text)}.json"
    if not path.exists():
        write_text(path, text)
    return f"@{path.as_posix()}"


class TrainingLock:
    """An flock on a file: the kernel drops it when the process dies, so no unlock is ever needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        """True when this process holds the lock now; False when another one trains here."""
        if self._file is not None:
            return True
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        except OSError:
            pass
        self._file = file
        return True

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def sweep_incomplete(markers: Path, root: Path = Path()) -> list[str]:
    """Remove outputs that a killed run left marked as incomplete; returns their paths."""
    removed = []
    for marker in sorted(path for path in markers.rglob("*") if path.is_file()):
        recorded = recorded_path(marker, markers)
        output = root / (recorded or "")
        # With what an interrupted write has left beside it
        for path in (output, *output.parent.glob(f".{output.name}.*")) if recorded else ():
            if path.exists():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                removed.append(path.as_posix())
        marker.unlink()
    return removed


def recorded_path(record: Path, folder: Path) -> str | None:
    """The output that a file in one of Snakemake's own folders is about; None if it is about none.

    Its path is the output's path in base64, cut into parts of a file name's length.
    """
    encoded = "".join(part.lstrip("@") for part in record.relative_to(folder).parts)
    try:
        return base64.urlsafe_b64decode(encoded).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def prune(run_dir: Path, keep: Collection[str], keep_dirs: Collection[str] = ()) -> list[str]:
    """Remove files of a run that its finished DAG does not contain, and folders left empty.

    A re-run may have fewer steps or epochs than the one before. `keep_dirs`: folders kept whole.
    """
    removed = []
    for path in sorted(run_dir.rglob("*"), reverse=True):
        name = path.as_posix()
        if any(name == kept or name.startswith(f"{kept}/") for kept in keep_dirs):
            continue
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
        elif path.is_file() and name not in keep:
            path.unlink()
            removed.append(name)
    return removed
