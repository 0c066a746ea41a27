"""A copy of the project in which the real Snakemake and DVC run on a tiny world; a rehearsal server."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import yaml

from skillmake.config.load import overlay
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World
from tests.serving import WORLD

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "rules", "scripts", "skillmake", "profiles", "prompts", "data", "configs", "dvc.yaml")
TINY = {
    "run": "tiny",
    "rehearsal": {"types": 2, "units_per_type": 24, "rules_per_type": 3, "rules_per_unit_max": 1},
    "train": {"epochs": 2, "batch_size": 8, "min_class_per_batch": 2},
    "gate": {"n_max": 12, "rung": 6},
}


class Project:
    """One checkout with its own call cache."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, root / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, root / part)
        shipped = [
            yaml.safe_load((ROOT / name).read_text()) for name in ("params.yaml", "configs/rehearsal.yaml")
        ]
        self.params(overlay(overlay(*shipped), TINY))

    def copy(self, root: Path) -> "Project":
        """The same project elsewhere, with its run and its cache."""
        other = Project.__new__(Project)
        other.root = root
        shutil.copytree(self.root, root)
        shutil.copytree(self.cache, other.cache)
        return other

    @property
    def cache(self) -> Path:
        return self.root.parent / f"{self.root.name}-cache"

    def params(self, value: dict[str, object]) -> None:
        (self.root / "params.yaml").write_text(yaml.safe_dump(value))

    def values(self) -> dict[str, Any]:
        value: dict[str, Any] = yaml.safe_load((self.root / "params.yaml").read_text())
        return value

    def change(self, section: str, **values: object) -> None:
        value = self.values()
        value[section] = {**value.get(section, {}), **values}
        self.params(value)

    @property
    def env(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SKILLMAKE", "PYTHONPATH"))}
        return {
            **inherited,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SKILLMAKE_CACHE": str(self.cache),
            "PYTHONPATH": str(self.root),
        }

    def run(self, *command: str, ok: bool = True) -> str:
        done = subprocess.run(
            command, cwd=self.root, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert (done.returncode == 0) is ok, done.stdout[-6000:]
        return done.stdout

    def versioned(self) -> None:
        """Put the project under git and DVC, with the ignore files of this one, and commit it."""
        for name in (".gitignore", ".dvcignore"):
            shutil.copy(ROOT / name, self.root / name)
        self.run("git", "init", "-q")
        for name, value in (("user.name", "t"), ("user.email", "t@example.org")):
            self.run("git", "config", name, value)
        self.run("dvc", "init", "-q")
        self.run("dvc", "config", "core.analytics", "false")
        self.run("dvc", "remote", "add", "-d", "store", str(self.root.with_name(f"{self.root.name}-store")))
        self.commit("start")

    def commit(self, message: str) -> None:
        self.run("git", "add", ".")
        self.run("git", "commit", "-q", "-m", message)

    def train(self, *more: str, cores: int = 2, ok: bool = True) -> str:
        return self.run("snakemake", "--cores", str(cores), *more, ok=ok)

    def start(self, cores: int, *more: str) -> subprocess.Popen[bytes]:
        """Snakemake in a session of its own, to be waited for or killed."""
        return subprocess.Popen(
            ["snakemake", "--cores", str(cores), *more],
            cwd=self.root,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def artefacts(self) -> dict[str, bytes]:
        """Everything a run leaves but its logs, by relative path."""
        tops = [self.root / name for name in ("runs", "skills", "prompts-delivered", "plots", "metrics.json")]
        files = [f for top in tops for f in ([top] if top.is_file() else top.rglob("*")) if f.is_file()]
        named = {file.relative_to(self.root).as_posix(): file.read_bytes() for file in files}
        return {name: data for name, data in named.items() if "/log/" not in name}

    def paid(self) -> list[str]:
        """Keys of the calls that were really sent, from the call logs."""
        lines = [
            json.loads(line)
            for path in sorted(self.root.glob("runs/*/log/calls/*.jsonl"))
            for line in path.read_text().splitlines()
        ]
        return [line["key"] for line in lines if not line["cached"]]

    def job_logs(self) -> dict[str, int]:
        """When each job last ran, by the name of its log: `e01.s001.gate` and the like."""
        found = self.root.glob("runs/*/log/*.log")
        return {path.name.removesuffix(".log"): path.stat().st_mtime_ns for path in found}

    def metrics(self) -> dict[str, object]:
        value: dict[str, object] = json.loads((self.root / "metrics.json").read_text())
        return value


class Clone(Project):
    """A clone of a project that is under git, beside it, with a cache of its own."""

    def __init__(self, of: Project, name: str) -> None:
        self.root = of.root.with_name(name)
        of.run("git", "clone", "-q", ".", str(self.root))


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Project]:
    """Makes a project directory of the given name."""
    return lambda name: Project(tmp_path / name)


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    work = Project(tmp_path_factory.mktemp("trained") / "work")
    work.params({**work.values(), "run": "main"})
    work.train()
    return work


@pytest.fixture
def trained(trained_once: Project, tmp_path: Path) -> Project:
    """A copy of a project with its finished run `main`."""
    return trained_once.copy(tmp_path / "work")


@pytest.fixture(scope="module")
def world() -> World:
    return World(WORLD)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve(ServerConfig(world=WORLD)) as (address, _):
        yield address


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=10) as made:
        yield made
