"""The command `watch`: what it prints, when it ends, what it takes."""

import re
import time
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from skillmake.pulse import begin_session, end_session
from skillmake.watch import live
from skillmake.watch.snapshot import Watcher
from tests.commands import fails, run
from tests.small_run import SmallRun
from tests.watching import CONFIG, job


# --- the command ------------------------------------------------------------------------
def test_once_prints_plain_text_of_the_run_that_was_started_last(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    SmallRun(run_dir.parents[1], "other")
    text = run("watch", "--once")
    assert text.startswith("run small  training for ")
    assert "\x1b" not in text
    assert not set(text) & set("━─│")
    assert run("watch", "other", "--once").startswith("run other  stopped")
    assert run("watch", "runs/other", "--once").startswith("run other  stopped")
    assert "not started" in run("watch", "new")  # no terminal here


def test_without_any_session_it_is_the_run_of_the_parameters(run_dir: Path) -> None:
    (run_dir.parents[1] / "params.yaml").write_text("run: small\n")
    assert run("watch", "--once").startswith("run small  stopped")


def test_a_path_that_is_no_run_is_refused(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "e01: no folder of a run" in fails(monkeypatch, capsys, "watch", str(run_dir / "e01"))


def test_a_picture_is_one_file_that_needs_nothing_else(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    with job(run_dir, "gate", e="01", s="001", t="alpha"):
        run("watch", "--svg", "out/watch.svg", "--width", "80")
    picture = Path("out/watch.svg").read_text()
    assert re.findall(r"(?:https?:)?//[^\"' )]+", picture.replace("http://www.w3.org/2000/svg", "")) == []
    dark = picture.index("prefers-color-scheme: dark")
    assert picture.count(".watch-r1 {") == 2
    assert picture.index(".watch-r1 {") < dark < picture.rindex(".watch-r1 {")
    assert "small" in picture


def test_watching_ends_with_the_training(run_dir: Path) -> None:
    """It waits for the run, follows it, and leaves the last picture when the session has ended."""
    out = StringIO()
    seen: list[float] = []

    def sleep(seconds: float) -> None:
        seen.append(seconds)
        if len(seen) == 2:
            begin_session(run_dir, CONFIG)
        if len(seen) == 4:
            end_session(run_dir, "finished")

    end_session(run_dir, "finished")
    snap = live.watch(run_dir, Console(file=out, width=100), sleep)
    assert (snap.status, len(seen)) == ("finished", 4)
    assert min(seen) >= 1.0
    assert out.getvalue().rstrip().splitlines()[0].startswith("run small")


def test_ctrl_c_leaves_the_last_picture(run_dir: Path) -> None:
    out = StringIO()

    def sleep(_: float) -> None:
        raise KeyboardInterrupt

    assert live.watch(run_dir, Console(file=out, width=100), sleep).status == "stopped"
    assert "run small" in out.getvalue()


def test_what_has_not_changed_is_not_read_again(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_session(run_dir, CONFIG)
    watcher = Watcher(run_dir)
    first = watcher.look(time.time())
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read again"))
    again = watcher.look(time.time())
    assert (again.validations, again.gates, again.seed) == (first.validations, first.gates, first.seed)
