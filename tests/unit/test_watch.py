"""The live view: what is shown of a run at any moment, whatever the files are like just then."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from skillmake.artifacts import write_text
from skillmake.gate import GateNumbers
from skillmake.pulse import begin_session, end_session
from skillmake.watch.place import Milestone, Place, clock, time_left
from skillmake.watch.snapshot import Watcher
from tests.watching import CONFIG, job, look, shown

NO_PROCESS = 2**22 - 1  # more than any process of a test machine has


def rewrite(path: Path, **values: object) -> None:
    write_text(path, json.dumps({**json.loads(path.read_text()), **values}))


# --- what becomes of a run --------------------------------------------------------------
def test_a_run_that_has_not_begun_is_waited_for(tmp_path: Path) -> None:
    snap = look(tmp_path / "runs" / "new")
    assert snap.status == "not started"
    assert shown(snap) == "run new  not started: `snakemake --cores 8` starts it\n"


def test_while_a_job_runs_the_run_trains(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    assert look(run_dir).status == "training"
    with job(run_dir, "rollout", e="02", s="001"):
        snap = look(run_dir)
    assert (snap.status, snap.place, snap.steps_done) == ("training", Place(2, 1), 3)
    assert [row.job.name for row in snap.jobs] == ["rollout.02.001"]
    assert "1 job running" in shown(snap)


@pytest.mark.parametrize("how", ["finished", "failed"])
def test_a_run_that_ended_says_how(run_dir: Path, how: Any) -> None:
    begin_session(run_dir, CONFIG)
    end_session(run_dir, how)
    snap = look(run_dir)
    assert snap.status == how
    assert snap.left is None
    assert shown(snap).startswith(f"run small  {how}")


def test_another_target_that_ended_well_does_not_finish_the_training(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    end_session(run_dir, "ended")
    assert look(run_dir).status == "stopped"
    write_text(run_dir / "final_test.json", "{}")
    assert look(run_dir).status == "finished"


def test_a_killed_snakemake_is_found_by_its_process(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    rewrite(run_dir / "log/session.json", pid=NO_PROCESS)
    with pytest.raises(KeyboardInterrupt), job(run_dir, "gate", e="02", s="001", t="alpha"):
        raise KeyboardInterrupt
    rewrite(run_dir / "log/running/gate.02.001.alpha.json", pid=NO_PROCESS)
    snap = look(run_dir)
    assert snap.status == "stopped"
    assert [broken.name for broken in snap.broken] == ["gate.02.001.alpha"]
    assert "\nlost: gate.02.001.alpha\n" in shown(snap)
    assert re.search(r"stopped; last sign \d+ s ago; the same command continues\n", shown(snap))


def test_on_another_machine_only_silence_tells(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    rewrite(run_dir / "log/session.json", host="node7", pid=NO_PROCESS)
    with job(run_dir, "gate", e="02", s="001", t="alpha"):
        sign = run_dir / "log/running/gate.02.001.alpha.json"
        rewrite(sign, host="node7", pid=NO_PROCESS)
        assert look(run_dir).status == "training"
        assert "training on node7 for " in shown(look(run_dir))
        os.utime(sign, (time.time() - 100, time.time() - 100))
        snap = look(run_dir)
        assert (snap.status, [b.name for b in snap.broken]) == ("training", ["gate.02.001.alpha"])
        old = time.time() - 5000
        for path in (sign, *run_dir.rglob("*.json")):
            os.utime(path, (old, old))
        assert look(run_dir).status == "silent"
    # All jobs wait in the queue of a cluster: only Snakemake itself gives a sign
    os.utime(run_dir / "log/session.json")
    assert look(run_dir).status == "training"


def test_a_failed_job_shows_its_error_until_the_next_session(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    with pytest.raises(ValueError, match="key"), job(run_dir, "gate", e="02", s="001", t="alpha"):
        raise ValueError("the key is wrong")
    assert "failed: gate.02.001.alpha  the key is wrong\n" in shown(look(run_dir))
    begin_session(run_dir, CONFIG)
    assert "failed" not in shown(look(run_dir))


# --- gates ------------------------------------------------------------------------------
def test_gates_of_a_step_wait_climb_and_have_decided(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    with job(run_dir, "gate", e="01", s="001", t="alpha") as life:
        life.tell({**GateNumbers(wins=5, losses=1, n=13, e=4.1).model_dump(), "rung": 2, "rungs": 4,
                   "most": 40, "confirm_at": 20.0})  # fmt: skip
        text = shown(look(run_dir))
    assert re.search(r"gates of step 1 +rung +units +W +L +e +needs", text)
    assert re.search(r"alpha +climbs +2/4 +13/40 +5 +1 +4\.10 +20\.00", text)
    assert re.search(r"beta +on probation +12 +3 +1 +3\.50 +20\.00", text)
    narrow = shown(look(run_dir), 50)
    assert max(map(len, narrow.splitlines())) <= 50


def test_an_edit_that_is_being_written_and_one_that_was_skipped(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    path = run_dir / "e01/s001/gate/beta.json"
    rewrite(path, decision=None, candidate={"reason": "cooldown: 1 more step"})
    with job(run_dir, "evolve", e="01", s="001", t="alpha"):
        rows = {row.type_slug: row for row in look(run_dir).gates}
    assert rows["alpha"].state == "evolves"
    assert (rows["beta"].state, rows["beta"].note) == ("skipped", "cooldown: 1 more step")


# --- calls and money --------------------------------------------------------------------
def call(cached: bool, ended: float, **more: object) -> str:
    return json.dumps({"cached": cached, "cost": 0.0, "ended": ended, **more}, sort_keys=True) + "\n"


def test_calls_are_counted_as_they_come_and_half_a_line_is_left_for_later(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    rewrite(run_dir / "log/session.json", started=time.time() - 500)
    now, log = time.time(), run_dir / "log/calls/gate.02.001.alpha.jsonl"
    whole = call(False, now - 300) + call(False, now - 2) + call(True, now - 1)
    failed = call(False, now, error="HTTP 500")
    write_text(log, whole + failed[:20])
    write_text(run_dir / "log/spent.json", json.dumps({"calls": 250, "tokens": 9999, "cost": 1.9}))
    watcher = Watcher(run_dir)
    with job(run_dir, "gate", e="02", s="001", t="alpha"):
        rewrite(run_dir / "log/running/gate.02.001.alpha.json", started=now - 10)
        snap = watcher.look(now)
        assert (snap.calls.paid, snap.calls.cached, snap.calls.errors) == (2, 1, 0)
        assert snap.calls.rate == pytest.approx(1 / 60)
        assert [(row.paid, row.cached) for row in snap.jobs] == [(1, 1)]
        with log.open("a") as file:
            file.write(failed[20:])
        later = watcher.look(now)
        assert (later.calls.paid, later.calls.errors) == (3, 1)
        write_text(log, whole)  # begun again
        assert watcher.look(now).calls.paid == 2
    text = shown(later)
    assert "calls  3 paid, 1 from the cache (25%), 0.0/s  1 failed\n" in text
    assert "spent  250 of 1,000 calls (25%),  9,999 tokens,  1.90 of 2.00 money (95%),  0 s\n" in text


@pytest.mark.parametrize("content", ["", "{", '{"calls": 3', "[]", "null", '{"rule": 1}', "\udcff"])
def test_strange_files_are_not_there_yet(run_dir: Path, content: str) -> None:
    begin_session(run_dir, CONFIG)
    data = content.encode(errors="surrogateescape")
    names = ["spent.json", "session.json", "running/gate.02.001.alpha.json", "calls/x.jsonl"]
    for path in [*(run_dir / "log" / name for name in names), *run_dir.rglob("e01/**/*.json")]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    snap = look(run_dir)
    assert snap.jobs == []
    assert snap.validations == {}
    assert shown(snap).startswith("run small  ")


# --- time -------------------------------------------------------------------------------
def test_the_time_left_follows_from_steps_and_ends_of_this_session() -> None:
    steps = [Milestone(Place(1), "plan", 100.0)]
    steps += [Milestone(Place(1, k), "step", 100.0 + 10 * k) for k in (1, 2, 3)]
    here = Place(1, 4)
    assert time_left(steps[:1], Place(1, 1), 4, 2, 0.0, 103.0) is None
    # Four steps of 10 s, 3 s of which are over, and an end that nobody knows
    left = time_left(steps, here, 4, 2, 0.0, 133.0)
    assert left is not None
    assert (left.seconds, left.is_least) == (37.0, True)
    ended = [*steps, Milestone(Place(1, 999, True), "end", 190.0), Milestone(Place(2), "plan", 191.0)]
    left = time_left(ended, Place(2, 1), 4, 1, 0.0, 196.0)
    assert left is not None
    assert (left.seconds, left.is_least) == (4 * 10 + 60 - 5, False)
    # What was made before the session began says nothing
    assert time_left(steps, here, 4, 2, 1000.0, 1001.0) is None
    assert time_left(ended, Place(2, 1), 0, 0, 0.0, 500.0).seconds == 0.0  # type: ignore[union-attr]


def test_durations_are_said_as_people_do() -> None:
    said = [clock(seconds) for seconds in (0.4, 59, 61, 599, 600, 3599, 3600, 90_000)]
    assert said == [
        "0 s",
        "59 s",
        "1 min 01 s",
        "9 min 59 s",
        "10 min",
        "59 min",
        "1 h 00 min",
        "25 h 00 min",
    ]
