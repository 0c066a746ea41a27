"""What a benchmark needs to train as a user does: a copy of the project, a server of the rehearsal world in a
process of its own, Snakemake."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from skillmake.artifacts import canonical, write_text

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "rules", "scripts", "skillmake", "profiles", "prompts", "data", "configs")


@contextmanager
def served(folder: Path, world: Mapping[str, Any], latency: float = 0.0) -> Iterator[str]:
    """URL of a server of the world; it ends with the block. The world is written into `folder`."""
    write_text(folder / "world.json", canonical(dict(world)))
    module = (sys.executable, "-m", "skillmake.rehearsal.server")
    command = (*module, "--latency", f"{latency}", "--world", str(folder / "world.json"))
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def checkout(folder: Path) -> Path:
    """A copy of the project's parts in `folder`/work."""
    work = folder / "work"
    work.mkdir()
    for part in PARTS:
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, work / part)
    return work


def models(url: str, *roles: str, **more: Any) -> dict[str, Any]:
    """`models` of a configuration whose roles are played by the server."""
    return {
        role: {"provider": "openai", "base_url": url, "model": f"rehearsal-{role}", **more} for role in roles
    }


def snakemake(work: Path, params: Mapping[str, Any], cores: int, *options: str) -> None:
    """Train in a copy with an empty cache beside it; what Snakemake says goes to stderr."""
    (work / "params.yaml").write_text(yaml.safe_dump(dict(params)))
    env = {**os.environ, "SKILLMAKE_CACHE": str(work.parent / "cache"), "PYTHONPATH": str(work)}
    command = ("snakemake", "--cores", f"{cores}", *options)
    subprocess.run(command, cwd=work, env=env, check=True, stdout=sys.stderr)
