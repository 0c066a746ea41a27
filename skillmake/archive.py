"""Starting a run afresh without losing what there is (SPEC §8, start states)."""

import shutil
from pathlib import Path

from skillmake.errors import DataError
from skillmake.runs import ARCHIVE, DELIVERED, METRICS, find_run, is_delivered
from skillmake.workspace import LOCK_FILE, TrainingLock

RESULTS = (*DELIVERED.values(), METRICS, "plots")


def archive(name: str) -> Path:
    """Move a run to runs/archive/<run>-N, with a copy of what was delivered from it; N counts from 1.

    Raises DataError when there is no such run, or when a training is going on here.
    """
    run_dir, lock = find_run(name), TrainingLock(LOCK_FILE)
    if run_dir.resolve().parent.name == ARCHIVE:
        raise DataError(f"{run_dir}: is in the archive already")
    if not lock.acquire():
        raise DataError("a snakemake works in this directory", "wait for it or stop it")
    try:
        place = _free_place(run_dir)
        place.parent.mkdir(exist_ok=True)
        _copy_delivered(run_dir)
        run_dir.rename(place)
    finally:
        lock.release()
    return place


def _free_place(run_dir: Path) -> Path:
    number = 1
    while (place := run_dir.parent / ARCHIVE / f"{run_dir.name}-{number}").exists():
        number += 1
    return place


def _copy_delivered(run_dir: Path) -> None:
    """The results at the project's top are overwritten by the next training."""
    if not is_delivered(run_dir.name):
        return
    for path in map(Path, RESULTS):
        target = run_dir / "delivered" / path
        if path.is_dir():
            shutil.copytree(path, target, dirs_exist_ok=True)
        elif path.is_file():
            target.parent.mkdir(exist_ok=True)
            shutil.copy2(path, target)
