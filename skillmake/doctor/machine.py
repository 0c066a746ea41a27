"""The machine: Python, packages, disk, the cache, git and DVC."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from skillmake.doctor.lines import Level, Line
from skillmake.errors import StorageError
from skillmake.locks import locked
from skillmake.memo import default_cache_dir

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
TOO_LITTLE, LITTLE = 0.2e9, 2e9  # bytes
PATIENCE = 60.0  # seconds for git and DVC


def python_line() -> Line:
    """This Python against the range of the project."""
    have, project = platform.python_version(), _project()
    if project is None:
        todo = "take the whole project, or install it: pip install -e ."
        return Line("warn", "python", f"{have}; which versions are needed is not known", todo)
    wanted = str(project["requires-python"])
    if SpecifierSet(wanted).contains(have, prereleases=True):
        return Line("ok", "python", f"{have} ({wanted})")
    return Line("fail", "python", f"{have}, needs {wanted}", "make a virtual environment with a newer Python")


def package_lines(extras: tuple[str, ...] = ()) -> Iterator[Line]:
    """A line for all packages that are in range, and one for each that is not."""
    project = _project()
    if project is None:
        return
    wanted = [*project["dependencies"], *(r for e in extras for r in project["optional-dependencies"][e])]
    problems = [line for text in wanted if (line := _package(Requirement(text))) is not None]
    shown = ", ".join(f"{name} {metadata.version(name)}" for name in ("snakemake", "dvc") if _has(name))
    yield Line("ok", "packages", f"{len(wanted) - len(problems)} of {len(wanted)} in range ({shown})")
    yield from problems


def _package(wanted: Requirement) -> Line | None:
    install = f"{Path(sys.executable).name} -m pip install '{wanted.name}{wanted.specifier}'"
    if not _has(wanted.name):
        return Line("fail", f"package {wanted.name}", f"not installed, needs {wanted.specifier}", install)
    have = metadata.version(wanted.name)
    if wanted.specifier.contains(have, prereleases=True):
        return None
    return Line("fail", f"package {wanted.name}", f"{have}, needs {wanted.specifier}", install)


def _has(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _project() -> dict[str, Any] | None:
    """The project table: that of the checkout, else of the installed package; None of a mere copy."""
    if PYPROJECT.is_file():
        table: dict[str, Any] = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
        return table
    if not _has("skillmake"):
        return None
    found = metadata.metadata("skillmake")
    needs = [Requirement(text) for text in metadata.requires("skillmake") or []]
    plain = [need for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    extras = {
        extra: [
            f"{need.name}{need.specifier}"
            for need in needs
            if need not in plain and need.marker is not None and need.marker.evaluate({"extra": extra})
        ]
        for extra in found.get_all("Provides-Extra") or []
    }
    return {
        "requires-python": found["Requires-Python"],
        "dependencies": [f"{need.name}{need.specifier}" for need in plain],
        "optional-dependencies": extras,
    }


def place_lines() -> Iterator[Line]:
    """The working directory and the cache: may we write there, do locks work, how much is free?"""
    yield _place("worktree", Path("runs"), "give yourself the right to write here")
    yield _place("cache", default_cache_dir(), "set SKILLMAKE_CACHE to a folder that you may write to")


def _place(what: str, folder: Path, todo: str) -> Line:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".doctor.") as inside:
            (Path(inside) / "probe").write_bytes(b"probe")
            with locked(Path(inside) / "lock"):
                pass
        free = shutil.disk_usage(folder).free
    except (OSError, StorageError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Line("fail", what, f"{folder}: cannot be used: {reason}", todo)
    level: Level = "fail" if free < TOO_LITTLE else "warn" if free < LITTLE else "ok"
    found = f"{folder}: can be written, {free / 1e9:,.1f} GB free"
    return Line(
        level, what, found, "" if level == "ok" else "make room: a run and its cache take up to some GB"
    )


def git_line() -> Line:
    """Whether experiments have a commit to start from."""
    todo = "`dvc exp` and `dvc diff` need it: git init, git add, git commit"
    inside = _run("git", "rev-parse", "--is-inside-work-tree")
    if inside is None:
        return Line("warn", "git", "not installed", "install git: `dvc exp` and `dvc diff` need it")
    if inside.returncode:
        return Line("warn", "git", "no repository", todo)
    head = _run("git", "rev-parse", "--short", "HEAD")
    if head is None or head.returncode:
        return Line("warn", "git", "no commit yet", todo)
    status = _run("git", "status", "--porcelain", "--untracked-files=no")
    changed = len(status.stdout.splitlines()) if status else 0
    state = f"{changed} changed file{'s' if changed != 1 else ''}" if changed else "no changes"
    return Line("ok", "git", f"at {head.stdout.strip()}, {state}")


def dvc_line() -> Line:
    """Whether DVC is set up, and whether it knows of the results that are here."""
    if not Path(".dvc").is_dir():
        return Line("warn", "dvc", "not set up here", "for experiments: dvc init")
    done = _run(sys.executable, "-m", "dvc", "status", "--json")
    try:
        stages = json.loads(done.stdout) if done and not done.returncode else None
    except ValueError:
        stages = None
    if stages is None:
        return Line("warn", "dvc", "`dvc status` fails", "run it to see why; training does not need it")
    outs = {
        name: how
        for parts in stages.values()
        for part in parts
        if isinstance(part, dict)
        for name, how in part.get("changed outs", {}).items()
    }
    if any(how == "modified" for how in outs.values()):
        return Line(
            "warn",
            "dvc",
            f"results that dvc.lock does not record: {', '.join(sorted(outs))}",
            "`dvc repro` or `dvc commit` records them; `dvc exp run` would put older ones in their place",
        )
    return Line("ok", "dvc", "set up; its record fits the results" if not outs else "set up; no results yet")


def _run(*command: str) -> subprocess.CompletedProcess[str] | None:
    """The ended process; None when there is no such command or when it does not end."""
    env = {**os.environ, "LC_ALL": "C", "DVC_NO_ANALYTICS": "1"}
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, env=env, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
