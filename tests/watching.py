"""A run that is watched."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from rich.console import Console

from skillmake.config.load import parse_config
from skillmake.pulse import Pulse
from skillmake.watch.frame import frame
from skillmake.watch.snapshot import Snapshot, Watcher

CONFIG = parse_config({"train": {"epochs": 2}, "limits": {"max_calls": 1000, "max_cost": 2.0}})


def look(run_dir: Path) -> Snapshot:
    return Watcher(run_dir).look(time.time())


def shown(snap: Snapshot, width: int = 110) -> str:
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(frame(snap, width, is_plain=True))
    return out.getvalue()


@contextmanager
def job(run_dir: Path, rule: str, **wildcards: str) -> Iterator[Pulse]:
    name = ".".join([rule, *wildcards.values()])
    with Pulse(run_dir / "log", name, rule, wildcards) as life:
        life._last = 0.0
        yield life
