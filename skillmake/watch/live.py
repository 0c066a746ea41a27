"""The live view in a terminal, a single picture as text, and one as SVG."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.live import Live

from skillmake.errors import DataError
from skillmake.files import write_text
from skillmake.watch.frame import frame
from skillmake.watch.picture import svg
from skillmake.watch.snapshot import Snapshot, Status, Watcher

PAUSE = 1.0  # seconds between two looks
LEAST_REST = 60  # a look may cost this share of the time, so that watching takes less than 2 % of a core
ENDS: tuple[Status, ...] = ("finished", "failed", "stopped")


def once(run_dir: Path, out: TextIO, width: int) -> Snapshot:
    """Print one picture as plain text."""
    snap = Watcher(run_dir).look(time.time())
    Console(file=out, width=width, color_system=None).print(frame(snap, width, is_plain=True))
    return snap


def save_svg(run_dir: Path, path: Path, width: int) -> None:
    """Save one picture as an SVG file without any link to outside."""
    write_text(path, svg(frame(Watcher(run_dir).look(time.time()), width), width))


def watch(run_dir: Path, console: Console, sleep: Callable[[float], None] = time.sleep) -> Snapshot:
    """Show the run until it ends; one that does not train yet is waited for. Ctrl-C ends it as well."""
    watcher, was_training = Watcher(run_dir), False
    snap = watcher.look(time.time())
    try:
        with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
            while not (was_training and snap.status in ENDS):
                began = time.process_time()
                live.update(frame(snap, console.width), refresh=True)
                was_training |= snap.status == "training"
                rest = LEAST_REST * (time.process_time() - began + watcher.cost)
                sleep(max(PAUSE, rest))
                snap = watcher.look(time.time())
    except KeyboardInterrupt:
        pass
    console.print(frame(snap, console.width))
    return snap


def run_dir_of(name: str | None, params: Path, runs: Path) -> Path:
    """Folder of the run `name`, also of one that has not begun; without a name the one started last, else
    that of `params`. Raises DataError when `name` is a path to something else, ConfigError for the last."""
    if name is not None:
        given = Path(name)
        if given.absolute().parent.name == runs.name:
            return given
        if given.name != name:
            raise DataError(f"{name}: no folder of a run", "give the name of a run, or runs/<name>")
        return runs / name
    sessions = [(path.stat().st_mtime, path) for path in runs.glob("*/log/session.json")]
    if sessions:
        return max(sessions)[1].parents[1]
    from skillmake.config.load import load_config

    return runs / load_config(params).run
