"""The sign of life of a job and the session of a run: there while it runs, and never in its way."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from skillmake import pulse
from skillmake.config.load import parse_config
from skillmake.errors import DataError
from skillmake.pulse import Pulse, begin_session, end_session, join_session
from skillmake.workspace import STARTED


def told(log_dir: Path, name: str = "gate.01") -> dict[str, Any]:
    value: dict[str, Any] = json.loads((log_dir / "running" / f"{name}.json").read_text())
    return value


def test_a_job_is_there_while_it_runs_and_says_how_far_it_is(tmp_path: Path) -> None:
    with Pulse(tmp_path, "gate.01", "gate", {"e": "01"}) as life:
        said = told(tmp_path)
        assert (said["rule"], said["wildcards"], said["pid"]) == ("gate", {"e": "01"}, os.getpid())
        assert "progress" not in said
        life._last = 0.0
        life.tell({"wins": 3})
        assert told(tmp_path)["progress"] == {"wins": 3}
    assert list((tmp_path / "running").iterdir()) == []


def test_progress_that_comes_too_fast_is_told_with_the_next_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "BEAT", 0.02)
    monkeypatch.setattr(pulse, "LEAST_PAUSE", 1e9)
    with Pulse(tmp_path, "gate.01", "gate", {}) as life:
        life.tell({"wins": 1})
        while told(tmp_path).get("progress") != {"wins": 1}:
            time.sleep(0.01)


def test_a_failed_job_leaves_its_error_and_a_beat_behind_it_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "BEAT", 0.001)
    life = Pulse(tmp_path, "gate.01", "gate", {})
    with pytest.raises(ValueError, match="no such"), life:
        raise ValueError("no such unit" + "!" * 1000)
    assert told(tmp_path)["error"].startswith("no such unit!")
    assert len(told(tmp_path)["error"]) == pulse.LONGEST_ERROR
    (tmp_path / "running" / "gate.01.json").unlink()
    life._write()
    time.sleep(0.01)
    assert list((tmp_path / "running").iterdir()) == []


def test_a_killed_job_says_no_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Pulse(tmp_path, "gate.01", "gate", {}):
        raise KeyboardInterrupt
    assert "error" not in told(tmp_path)


def test_where_nothing_can_be_written_the_job_goes_on(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a file")
    begin_session(tmp_path, parse_config({}))
    with Pulse(tmp_path / "log", "gate.01", "gate", {}) as life:
        life._last = 0.0
        life.tell({"wins": 1})
    end_session(tmp_path, "finished")
    assert (tmp_path / "log").read_text() == "a file"


def test_a_session_begins_without_the_jobs_of_the_one_before(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Pulse(tmp_path / "log", "gate.01", "gate", {}):
        raise KeyboardInterrupt
    begin_session(tmp_path, parse_config({"train": {"epochs": 3}, "limits": {"max_calls": 7}}))
    assert not (tmp_path / "log" / "running").exists()
    said = json.loads((tmp_path / "log" / "session.json").read_text())
    assert (said["epochs"], said["how"], said["pid"]) == (3, None, os.getpid())
    assert said["caps"] == {"calls": 7, "tokens": None, "cost": None, "seconds": None}
    end_session(tmp_path, "failed")
    after = json.loads((tmp_path / "log" / "session.json").read_text())
    assert (after["how"], after["epochs"]) == ("failed", 3)
    assert after["ended"] >= after["started"]
    end_session(tmp_path, "failed")
    again = json.loads((tmp_path / "log" / "session.json").read_text())
    assert again == after, "it ended when it was said first"


def test_a_node_joins_the_session_that_it_works_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "BEAT", 0.01)
    monkeypatch.setenv(STARTED, "17.5")
    beat = begin_session(tmp_path, parse_config({}), slots=6)
    session = tmp_path / "log/session.json"
    os.utime(session, (1.0, 1.0))
    while session.stat().st_mtime == 1.0:  # it gives a sign of life
        time.sleep(0.01)
    monkeypatch.setenv(STARTED, "99.0")
    assert (join_session(tmp_path), os.environ[STARTED]) == (6, "17.5")
    end_session(tmp_path, "finished", beat)
    assert beat.is_set()
    with pytest.raises(DataError, match=r"session\.json cannot be read\n.*same place"):
        join_session(tmp_path / "elsewhere")
