"""verify, lineage, blame and diff on the command line: which run is meant, what is printed, exit codes."""

import sys
from pathlib import Path

import pytest

from skillmake import cli
from tests.small_run import ALPHA, BETA, SmallRun

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallRun:
    """The working directory of a project whose params.yaml names the run."""
    made = SmallRun(tmp_path)
    made.deliver()
    (tmp_path / "params.yaml").write_text("run: small\n")
    monkeypatch.chdir(tmp_path)
    return made


def command(monkeypatch: pytest.MonkeyPatch, capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and messages; a traceback would be an exception here."""
    monkeypatch.setattr(sys, "argv", ["skillmake", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("name", ["small", "runs/small"])
def test_verify_prints_what_it_checked(monkeypatch: pytest.MonkeyPatch, capsys: Capture, name: str) -> None:
    code, out, err = command(monkeypatch, capsys, "verify", name)
    assert (code, err) == (0, "")
    assert "       6  version directories\n" in out
    assert out.endswith("runs/small: all digests agree\n")


def test_verify_works_from_anywhere(
    run: SmallRun, monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert command(monkeypatch, capsys, "verify", str(run.folder))[0] == 0


def test_verify_names_the_path_and_exits_with_1(
    run: SmallRun, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (run.root / "skills" / BETA).unlink()
    code, out, err = command(monkeypatch, capsys, "verify", "small")
    assert code == 1
    assert "artefacts" in out
    assert "agree" not in out
    assert err.startswith(f"skillmake: runs/small: 1 mismatch\n  skills/{BETA}: expected sha256 ")
    assert "found no such file (the best version" in err


def test_lineage_blame_and_diff_take_the_run_of_params_yaml(
    run: SmallRun, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    code, out, _ = command(monkeypatch, capsys, "lineage", run.best.best.skills[:7])
    assert (code, out.splitlines()[0].strip()) == (0, f"Run small: skills version {run.best.best.skills}")
    code, out, _ = command(monkeypatch, capsys, "blame", f"skills/{ALPHA}")
    assert (code, out.splitlines()[0]) == (
        0,
        f"{ALPHA} of skills version {run.best.best.skills}, run small",
    )
    code, out, _ = command(monkeypatch, capsys, "diff", "seed", "epoch:1", "--unified")
    assert code == 0
    assert "+Keep calm.\n" in out


def test_another_run_is_named_or_known_by_the_files_place(
    run: SmallRun, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    other = SmallRun(run.root, "other")
    other.deliver()
    assert "Run other:" in command(monkeypatch, capsys, "lineage", "seed", "--run", "other")[1]
    file = f"runs/other/versions/skills/{other.texts.skills.digest}/{ALPHA}"
    assert "run other\n" in command(monkeypatch, capsys, "blame", file)[1]
    assert "run small\n" in command(monkeypatch, capsys, "blame", file, "--run", "small")[1]


@pytest.mark.usefixtures("run")
def test_the_output_has_one_width_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    outputs = []
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("FORCE_COLOR", "1")
        outputs.append(
            [command(monkeypatch, capsys, *c.split())[1] for c in ("lineage best", "diff seed best")]
        )
    assert outputs[0] == outputs[1]
    assert "\x1b" not in "".join(outputs[0])


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("verify nowhere", "skillmake: nowhere: no such run\n  → runs here: small\n"),
        ("verify skills", "skillmake: skills: no such run\n  → runs here: small\n"),
        ("lineage seed --run nowhere", "skillmake: nowhere: no such run\n"),
        ("blame missing.md", "skillmake: missing.md: no such file\n"),
        ("blame skills", "skillmake: skills: cannot be read: Is a directory\n"),
        ("blame params.yaml", "no version of run small has such a file"),
        ("diff seed zz", "skillmake: zz: no version of run small starts so\n"),
    ],
)
def test_a_users_mistake_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, arguments: str, says: str
) -> None:
    code, out, err = command(monkeypatch, capsys, *arguments.split())
    assert (code, out) == (1, "")
    assert says in err
