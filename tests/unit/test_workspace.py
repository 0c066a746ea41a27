"""The run's files on disk: the lock, the sweep of half-written outputs, the prune (DESIGN §4)."""

import base64
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skillmake.workspace import TrainingLock, only_looks, prune, sweep_incomplete

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from skillmake.workspace import TrainingLock
lock = TrainingLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
time.sleep(60)
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has asked for the lock and goes on living."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


# --- lock -----------------------------------------------------------------------------
def test_one_of_two_processes_gets_the_lock_and_a_kill_frees_it(tmp_path: Path) -> None:
    path, lock = tmp_path / "runs" / "lock", TrainingLock(tmp_path / "runs" / "lock")
    with holder(path) as other:
        assert answer(other) == "True"
        assert not lock.acquire()
        assert not lock.acquire()  # asking again does not help
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert lock.acquire()
    with holder(path) as late:
        assert answer(late) == "False"


def test_a_lock_can_be_released_and_taken_again(tmp_path: Path) -> None:
    one, two = TrainingLock(tmp_path / "lock"), TrainingLock(tmp_path / "lock")
    assert one.acquire()
    assert one.acquire()  # who holds it holds it
    assert not two.acquire()
    one.release()
    one.release()
    assert two.acquire()
    assert not one.acquire()
    two.release()


def test_locks_of_two_directories_are_independent(tmp_path: Path) -> None:
    one, two = TrainingLock(tmp_path / "a" / "lock"), TrainingLock(tmp_path / "b" / "lock")
    assert one.acquire()
    assert two.acquire()
    one.release()
    two.release()


# --- sweep ----------------------------------------------------------------------------
def mark(root: Path, output: str, longest: int = 255) -> None:
    """Mark an output as incomplete: its path in base64, in parts; all but the last are folders `@…`."""
    encoded = base64.urlsafe_b64encode(output.encode()).decode()
    parts = [encoded[k : k + longest - 1] for k in range(0, len(encoded), longest - 1)]
    path = root.joinpath("markers", *(f"@{part}" for part in parts[:-1]), parts[-1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def left(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def fill(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def test_a_marked_output_is_removed_with_its_marker(tmp_path: Path) -> None:
    fill(tmp_path, "runs/a.json", "runs/b.json")
    mark(tmp_path, "runs/a.json")
    assert sweep_incomplete(tmp_path / "markers", tmp_path) == [(tmp_path / "runs/a.json").as_posix()]
    assert left(tmp_path) == ["runs/b.json"]


def test_a_marked_folder_goes_whole_and_with_it_what_an_interrupted_write_has_left(tmp_path: Path) -> None:
    fill(tmp_path, "skills/a/SKILL.md", ".metrics.json.x1y2", "metrics.jsonl", "plots/.a.csv.x", "plots/b")
    for output in ("skills", "metrics.json", "plots/a.csv"):
        mark(tmp_path, output)
    sweep_incomplete(tmp_path / "markers", tmp_path)
    assert left(tmp_path) == ["metrics.jsonl", "plots/b"]
    assert not (tmp_path / "skills").exists()


def test_a_long_path_is_put_together_from_its_parts(tmp_path: Path) -> None:
    name = f"runs/{'long-' * 20}/a.json"
    fill(tmp_path, name)
    mark(tmp_path, name, longest=40)
    assert sweep_incomplete(tmp_path / "markers", tmp_path) == [(tmp_path / name).as_posix()]
    assert left(tmp_path) == []


def test_a_marker_without_an_output_or_without_meaning_just_goes(tmp_path: Path) -> None:
    mark(tmp_path, "runs/never-made.json")
    fill(tmp_path, "markers/a", "markers/_w==")  # no base64; not UTF-8
    assert sweep_incomplete(tmp_path / "markers", tmp_path) == []
    assert left(tmp_path) == []


def test_without_markers_nothing_is_swept(tmp_path: Path) -> None:
    fill(tmp_path, "runs/a.json")
    assert sweep_incomplete(tmp_path / "markers", tmp_path) == []
    assert left(tmp_path) == ["runs/a.json"]


# --- prune ----------------------------------------------------------------------------
def test_what_the_dag_does_not_contain_goes_with_the_folders_it_leaves_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, "runs/m/a.json", "runs/m/e01/s001/x.json", "runs/m/e02/s001/x.json", "runs/other/a.json")
    removed = prune(Path("runs/m"), {"runs/m/a.json", "runs/m/e01/s001/x.json"})
    assert removed == ["runs/m/e02/s001/x.json"]
    assert left(tmp_path) == ["runs/m/a.json", "runs/m/e01/s001/x.json", "runs/other/a.json"]
    assert not Path("runs/m/e02").exists()


def test_kept_folders_stay_whole_and_only_they(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, "runs/m/log/a.log", "runs/m/log/deep/b.log", "runs/m/logs/c.log")
    assert prune(Path("runs/m"), (), ("runs/m/log",)) == ["runs/m/logs/c.log"]
    assert left(tmp_path) == ["runs/m/log/a.log", "runs/m/log/deep/b.log"]


def test_a_run_that_was_never_started_has_nothing_to_prune(tmp_path: Path) -> None:
    assert prune(tmp_path / "nowhere", ()) == []


@pytest.mark.parametrize(
    ("arguments", "looks"),
    [
        ("--cores 8 -n", True),
        ("-np all", True),
        ("--dry-run", True),
        ("--lint", True),
        ("--rulegraph", True),
        ("--lt", True),
        ("-S", True),
        ("--cores 8 infer --config name=n", False),
        ("-c8 -p --latency-wait 5", False),
        ("--nolock", False),
    ],
)
def test_who_only_looks_is_told_from_the_command(arguments: str, looks: bool) -> None:
    assert only_looks(arguments.split()) == looks
