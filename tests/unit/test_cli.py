"""The command line: what each command prints, and that a problem is one message (SPEC §8)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skillmake import cli
from skillmake.config.document import params_yaml, schema_json
from skillmake.config.load import describe
from skillmake.questions import dump_questions, load_questions
from tests.commands import fails, run
from tests.worlds import question

ROOT = Path(__file__).parents[2]
MAPPING = """
format: csv
id: id
question: message
answer: label
task_type: "{stem}"
options: {labels_of_type: true}
"""
ROWS = "id,label,message\na1,yes,Is it?\na2,no,Is it not?\na3,yes,Is it so?\n"
METRICS = {
    "test": {
        "units": 20,
        "seed": {"accuracy": 0.5},
        "delivered": {"accuracy": 0.65},
        "gain": 0.15,
        "gain_ci": [-0.02, 0.32],
        "by_type": {
            "alpha": {
                "units": 20,
                "seed": {"accuracy": 0.5},
                "delivered": {"accuracy": 0.65},
                "gain": 0.15,
                "gain_ci": [-0.02, 0.32],
            }
        },
    },
    "edits": {"accepted": 3, "inconclusive": 0, "provisional": 2, "rejected": 7, "skipped": 1, "tried": 12},
    "gate": {"tests": 12, "expected_false": {"confirmed": 0.6, "accepted": 9.6}},
    "calls": {"cache_hits": 9, "judge": 0, "student": 1234, "teacher": 5},
    "tokens": {"completion": 6, "prompt": 7},
}


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    """A mapping and a CSV file that it fits."""
    (tmp_path / "map.yaml").write_text(MAPPING)
    (tmp_path / "alpha.csv").write_text(ROWS)
    return tmp_path / "map.yaml", tmp_path / "alpha.csv"


# --- import and check -----------------------------------------------------------------
def test_import_writes_the_questions_and_says_how_many(tmp_path: Path, sources: tuple[Path, Path]) -> None:
    out = tmp_path / "new" / "questions.jsonl"
    assert run("import", *sources, "--out", out) == f"3 questions of 1 types in {out}: alpha\n"
    found = load_questions(out)
    assert [(q.question_id, q.answer) for q in found] == [("a1", "yes"), ("a2", "no"), ("a3", "yes")]
    assert run("check", out) == "3 questions, 3 units: all valid\n"


def test_check_counts_a_twin_pair_as_one_unit(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    dump_questions(path, [question("a", unit_id="u"), question("b", unit_id="u"), question("c")])
    assert run("check", path) == "3 questions, 2 units: all valid\n"


def test_a_row_that_is_no_question_is_named_and_nothing_is_written(
    tmp_path: Path,
    sources: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sources[1].write_text(ROWS + "a4,,Empty?\n")
    out = tmp_path / "q.jsonl"
    assert "alpha.csv" in fails(monkeypatch, capsys, "import", *sources, "--out", out)
    assert not out.exists()


def test_every_wrong_line_of_a_question_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question_id": "a"}\nnot json\n')
    message = fails(monkeypatch, capsys, "check", path)
    assert "line 1" in message
    assert "line 2" in message


# --- params ---------------------------------------------------------------------------
def test_params_lists_every_parameter_with_its_default_and_meaning() -> None:
    lines = run("params").splitlines()
    assert lines[0::2] == [f"{p.path} = {json.dumps(p.default)}   ({p.allowed})" for p in describe()]
    assert lines[1::2] == [f"    {p.about}" for p in describe()]


def test_params_prints_the_parameter_file_and_its_schema() -> None:
    assert run("params", "--yaml") == params_yaml()
    assert run("params", "--schema") == schema_json()


def test_params_validates_files_one_on_top_of_the_other() -> None:
    assert run("params", ROOT / "params.yaml", ROOT / "configs" / "rehearsal.yaml") == "valid\n"


def test_params_names_what_is_wrong_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("gate: {n_mx: 3}\n")
    message = fails(monkeypatch, capsys, "params", path)
    assert message.startswith(f"skillmake: {path}: gate.n_mx: unknown parameter; did you mean `gate.n_max`?")
    assert message.endswith("  → `skillmake params` lists every parameter\n")


# --- result ---------------------------------------------------------------------------
def test_result_shows_seed_delivered_and_gain(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    path.write_text(json.dumps(METRICS))
    text = run("result", path)
    (row,) = [line for line in text.splitlines() if "alpha" in line]
    for cell in ("20", "0.500", "0.650", "+0.150", "-0.020 … +0.320"):
        assert cell in row
    assert "edits: 12 tried, 3 accepted, 2 provisional, 7 rejected, 0 inconclusive, 1 skipped\n" in text
    assert "calls: 1,234 student, 5 teacher, 0 judge, 9 cache hits\n" in text
    assert "tokens: 7 prompt, 6 completion\n" in text
    assert "it would confirm 0.60 and let in 9.6 at most" in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "no such file"),
        ("{", "not valid JSON"),
        ("{}", "not the metrics of a run"),
        ("[]", "not the metrics of a run"),
        ('{"test": 3}', "not the metrics of a run"),
        ('{"test": {"by_type": []}}', "not the metrics of a run"),
    ],
)
def test_what_is_not_the_metrics_of_a_run_is_named(
    text: str | None,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "metrics.json"
    if text is not None:
        path.write_text(text)
    assert f"{path}: {says}" in fails(monkeypatch, capsys, "result", path)


# --- the process ----------------------------------------------------------------------
def test_the_process_ends_with_one_message_and_exit_code_1(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "skillmake.cli", "check", "nowhere.jsonl"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    todo = "make it with `skillmake import` or `import-tree`, or correct data.questions"
    assert done.stderr == f"skillmake: nowhere.jsonl: no such file\n  → {todo}\n"


def test_a_wrong_command_is_a_usage_error() -> None:
    assert CliRunner().invoke(cli.app, ["trian"]).exit_code == 2
