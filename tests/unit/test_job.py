"""The process of a rule: memo, lineage stamp, errors (DESIGN §4)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from skillmake import job as job_module
from skillmake.artifacts import canonical, read_json, sha256, write_text
from skillmake.job import main, memo_key
from skillmake.memo import Memo, payload_digest
from skillmake.workspace import PARENT

ROOT = Path(__file__).parents[2]
# Writes a line to `ran` each time it really runs.
DOUBLE = """
from skillmake.artifacts import read_json

def main(job):
    with open("ran", "a") as file:
        file.write("x")
    value = read_json(job.path("number"))["value"]
    job.write("double", {"value": 2 * value, "seed": job.config.seed})
    job.write_text("text", f"{value}\\n")
    job.write_files("folder", {"a/b.md": "deep", "c.md": "flat"})
"""
FAIL = """
from skillmake.errors import DataError

def main(job):
    job.write("double", {"value": 1})
    raise DataError("line 3 is wrong", "correct it")
"""
FORGETFUL = "def main(job):\n    job.write('double', {})\n"
CURIOUS = "def main(job):\n    job.config.gate\n"
IO: dict[str, Any] = {
    "inputs": {"number": "in.json"},
    "outputs": {"double": "out/double.json", "text": "out/text.csv", "folder": "out/folder"},
    "wildcards": {"e": "01"},
    "run": "runs/main",
    "settings": {"limits": {"slots": 1}},
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny project that is the working directory, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKILLMAKE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(job_module, "die_with_parent", lambda: None)  # it would tie the tests to their shell
    Path("scripts").mkdir()
    for name, text in (("double", DOUBLE), ("fail", FAIL), ("forgetful", FORGETFUL), ("curious", CURIOUS)):
        Path(f"scripts/{name}.py").write_text(text)
    write_text("in.json", canonical({"value": 21}))
    return tmp_path


def run(rule: str = "double", code: str = "c1", config: str = '{"seed":1}', **io: Any) -> None:
    main(rule, code, config, json.dumps({**IO, **io}))


def runs() -> int:
    return len(Path("ran").read_text()) if Path("ran").exists() else 0


def entry(root: Path) -> Path:
    (path,) = (root / "cache" / "steps").rglob("*.json")
    return path


# --- outputs and stamps ---------------------------------------------------------------
def test_a_rule_writes_all_its_outputs() -> None:
    run()
    assert read_json("out/double.json")["value"] == 42
    assert read_json("out/double.json")["seed"] == 1
    assert Path("out/text.csv").read_text() == "21\n"
    assert Path("out/folder/a/b.md").read_text() == "deep"
    assert Path("out/folder/c.md").read_text() == "flat"


def test_a_json_output_says_what_it_was_made_from_and_by() -> None:
    run()
    stamped = read_json("out/double.json")
    assert stamped["derived_from"] == {"in.json": sha256(Path("in.json").read_bytes())}
    assert stamped["made_by"] == {"rule": "double", "code": "c1"}


def test_a_list_of_inputs_is_stamped_file_by_file() -> None:
    write_text("more.json", canonical({"value": 1}))
    run(inputs={"number": "in.json", "others": ["more.json", "in.json"]})
    assert set(read_json("out/double.json")["derived_from"]) == {"in.json", "more.json"}


# --- memo -----------------------------------------------------------------------------
def test_the_same_content_is_not_made_again() -> None:
    run()
    first = Path("out/double.json").read_bytes()
    Path("out/double.json").unlink()
    Path("out/folder/c.md").unlink()
    run()
    assert runs() == 1
    assert Path("out/double.json").read_bytes() == first
    assert Path("out/folder/c.md").read_text() == "flat"


def test_what_does_not_follow_from_the_inputs_is_made_again() -> None:
    script = Path("scripts/double.py")
    script.write_text(script.read_text() + "    job.is_reusable = False\n")
    run()
    run()
    assert runs() == 2


def test_another_lineage_of_an_input_is_no_reason_to_run_but_is_stamped() -> None:
    run()
    write_text(
        "in.json", canonical({"value": 21, "derived_from": {"x": "y"}, "made_by": {"rule": "r", "code": "c"}})
    )
    run()
    assert runs() == 1
    assert read_json("out/double.json")["derived_from"] == {"in.json": sha256(Path("in.json").read_bytes())}


def test_other_paths_and_settings_are_no_reason_to_run() -> None:
    run()
    Path("in.json").rename("moved.json")
    outputs = {name: f"new/{Path(path).name}" for name, path in IO["outputs"].items()}
    run(inputs={"number": "moved.json"}, outputs=outputs, run="runs/b", settings={"limits": {"slots": 2}})
    assert runs() == 1
    assert read_json("new/double.json")["value"] == 42


@pytest.mark.parametrize(
    "change", [{"code": "c2"}, {"config": '{"seed":2}'}, {"wildcards": {"e": "02"}}], ids=str
)
def test_other_code_parameters_or_wildcards_are_a_reason_to_run(change: dict[str, Any]) -> None:
    run()
    run(**change)
    assert runs() == 2


def test_other_content_is_a_reason_to_run() -> None:
    run()
    write_text("in.json", canonical({"value": 5}))
    run()
    assert runs() == 2
    assert read_json("out/double.json")["value"] == 10


def test_inputs_under_exchanged_names_are_another_step() -> None:
    write_text("b.json", canonical({"value": 1}))
    one = {**IO, "inputs": {"x": "in.json", "y": "b.json"}}
    two = {**IO, "inputs": {"x": "b.json", "y": "in.json"}}
    assert memo_key("r", "c", "{}", one) != memo_key("r", "c", "{}", two)
    assert memo_key("r", "c", "{}", one) != memo_key("s", "c", "{}", one)


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"{}", b'{"outputs": {}, "digest": "x"}', b"\xff\xfe\xfa", b"null"]
)
def test_a_damaged_memo_entry_is_told_and_counts_as_missing(
    project: Path, capsys: pytest.CaptureFixture[str], damage: bytes
) -> None:
    run()
    good = entry(project).read_bytes()
    entry(project).write_bytes(damage)
    run()
    assert (
        capsys.readouterr().out == f"{entry(project)}: this step result was damaged; the step is made again\n"
    )
    assert runs() == 2
    assert entry(project).read_bytes() == good


def test_a_memo_entry_whose_text_was_changed_counts_as_missing(project: Path) -> None:
    run()
    entry(project).write_bytes(entry(project).read_bytes().replace(b"flat", b"flag"))
    run()
    assert runs() == 2
    assert Path("out/folder/c.md").read_text() == "flat"


def test_a_memo_gives_back_what_was_put() -> None:
    memo = Memo(Path("memo"))
    assert memo.get("ab12") is None
    memo.put("ab12", {"a": "text\n", "d": {"x.md": "é"}})
    assert memo.get("ab12") == {"a": "text\n", "d": {"x.md": "é"}}


def test_the_digest_of_a_payload_leaves_out_only_the_stamp() -> None:
    for name, value in (
        ("a", {"v": 1}),
        ("b", {"v": 1, "made_by": {}, "derived_from": {}}),
        ("c", {"v": 1, "made": {}}),
    ):
        write_text(f"{name}.json", canonical(value))
    assert payload_digest(Path("a.json")) == payload_digest(Path("b.json"))
    assert payload_digest(Path("a.json")) != payload_digest(Path("c.json"))


def test_the_digest_of_any_other_file_is_that_of_its_bytes() -> None:
    Path("a.jsonl").write_text('{"made_by": 1}\n')
    assert payload_digest(Path("a.jsonl")) == sha256(b'{"made_by": 1}\n')
    write_text("list.json", canonical([1]))
    assert payload_digest(Path("list.json")) == sha256(Path("list.json").read_bytes())


@pytest.mark.parametrize("data", [b'{"v": NaN}', b'{"v": "\\ud800"}', b"\xe4", b"", b"[" * 100_000])
def test_the_digest_of_a_users_json_file_that_is_none_is_that_of_its_bytes(data: bytes) -> None:
    """The rule that reads it says what is wrong with it, and where."""
    Path("video.json").write_bytes(data)
    assert payload_digest(Path("video.json")) == sha256(data)


# --- problems -------------------------------------------------------------------------
def test_a_problem_of_the_user_is_one_message_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run("fail", outputs={"double": "out/double.json"})
    assert caught.value.code == 1
    assert capsys.readouterr().err == "fail: line 3 is wrong\n  → correct it\n"
    assert not Path("out").exists()


def test_a_failed_rule_is_not_remembered() -> None:
    for _ in range(2):
        with pytest.raises(SystemExit):
            run("fail", outputs={"double": "out/double.json"})
    assert not Path("cache/steps").exists()


@pytest.mark.parametrize("text", ["", "{", "\xff"])
def test_an_input_that_is_not_json_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(SystemExit):
        run()
    assert capsys.readouterr().err.startswith("double: in.json: not valid JSON")


def test_a_script_that_forgets_an_output_is_a_defect_and_writes_nothing() -> None:
    with pytest.raises(AssertionError, match=r"forgetful\.py did not write \['text'\]"):
        run("forgetful", outputs={"double": "out/double.json", "text": "out/text.csv"})
    assert not Path("out").exists()


def test_a_script_sees_only_the_parameters_of_its_rule() -> None:
    with pytest.raises(AttributeError):
        run("curious")


def test_an_output_that_cannot_be_written_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").write_text("in the way")
    with pytest.raises(SystemExit):
        run()
    told = capsys.readouterr().err
    assert told.startswith("double: out/double.json: cannot be written: ")
    assert "run the same command: it continues" in told


# --- the process ----------------------------------------------------------------------
def process(rule: str, project: Path, **env: str) -> subprocess.CompletedProcess[str]:
    io = json.dumps({**IO, "outputs": {"double": "out/double.json"}} if rule == "fail" else IO)
    return subprocess.run(
        [sys.executable, "-m", "skillmake.job", rule, "c1", '{"seed":1}', io],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_process_makes_the_outputs_quietly(project: Path) -> None:
    done = process("double", project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert read_json(project / "out/double.json")["value"] == 42


def test_the_process_shows_one_message_and_no_traceback(project: Path) -> None:
    done = process("fail", project)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fail: line 3 is wrong\n  → correct it\n"


def test_a_job_whose_snakemake_died_while_it_started_does_nothing(project: Path) -> None:
    orphan = process("double", project, **{PARENT: "1"})
    assert (orphan.returncode, orphan.stderr) == (1, "the Snakemake that started this job has ended\n")
    assert not Path("out").exists()
    assert process("double", project, **{PARENT: str(os.getpid())}).returncode == 0
