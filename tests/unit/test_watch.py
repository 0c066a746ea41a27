"""The live view: what is shown of a run at any moment, whatever the files are like just then."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from skillmake.artifacts import canonical, write_text
from skillmake.config.load import parse_config
from skillmake.gate import GateNumbers
from skillmake.pulse import Pulse, begin_session, end_session
from skillmake.watch import live
from skillmake.watch.frame import frame
from skillmake.watch.place import Milestone, Place, clock, place_of, time_left
from skillmake.watch.snapshot import Snapshot, Watcher
from tests.commands import fails, run
from tests.small_run import SmallRun

CONFIG = parse_config({"train": {"epochs": 2}, "limits": {"max_calls": 1000, "max_cost": 2.0}})
NO_PROCESS = 2**22 - 1  # more than any process of a test machine has
Look = Callable[[], Snapshot]


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three steps up to the end of its first epoch, with what SmallRun does not write of it."""
    monkeypatch.chdir(tmp_path)
    folder = SmallRun(tmp_path).folder
    batch = {"units": [], "types": ["alpha", "beta"], "edit_budget": 2}
    write_text(folder / "e01/plan.json", canonical({"epoch": 1, "stop": "", "batches": [batch] * 3}))
    for step in range(1, 4):
        rows = [{"right": True}, {"right": False}, {"right": None}, {"right": True}]
        write_text(folder / f"e01/s00{step}/rollout.json", canonical({"rows": rows}))
    write_text(folder / "e01/end/scores.json", canonical({"overall": {"hard": 0.5}}))
    order = ["data/baseline.json", "init/state.json", "init/best.json", "e01/plan.json"]
    for step in range(1, 4):
        order += [f"e01/s00{step}/rollout.json", *(f"e01/s00{step}/gate/{t}.json" for t in ("alpha", "beta"))]
        order += [f"e01/s00{step}/state.json"]
    ends = ("validation", "scores", "best", "momentum", "state")
    order += [f"e01/end/{name}.json" for name in ends]
    begin = time.time() - 1000
    for place, name in enumerate(order):
        if (folder / name).exists():
            os.utime(folder / name, (begin + 10 * place, begin + 10 * place))
    return folder


def look(run_dir: Path) -> Snapshot:
    return Watcher(run_dir).look(time.time())


def shown(snap: Snapshot, width: int = 110) -> str:
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(frame(snap, width, is_plain=True))
    return out.getvalue()


@contextmanager
def job(run_dir: Path, rule: str, **wildcards: str) -> Iterator[Pulse]:
    name = ".".join([rule, *wildcards.values()])
    with Pulse(run_dir / "log", name, rule, wildcards) as life:
        life._last = 0.0
        yield life


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


# --- where it is ------------------------------------------------------------------------
def test_the_end_of_an_epoch_is_shown_with_its_accuracy(run_dir: Path) -> None:
    begin_session(run_dir, CONFIG)
    with job(run_dir, "epoch_end", e="01"):
        snap = look(run_dir)
    assert (snap.seed, dict(snap.validations), snap.best) == (0.375, {1: 0.5}, (0.5, 1))
    text = shown(snap)
    assert "epoch 1 of 2  slow update  3 of 6 steps\n" in text
    assert "validation  seed 0.375  epoch 1 0.500  best 0.500 (epoch 1)\n" in text


def test_the_steps_of_the_run_follow_from_the_plans_of_its_epochs(run_dir: Path) -> None:
    """An epoch has the steps that its plan says; those to come are taken to be as long as the last one."""
    begin_session(run_dir, CONFIG)
    batch = {"units": [], "types": ["alpha"], "edit_budget": 2}
    write_text(run_dir / "e02/plan.json", canonical({"epoch": 2, "stop": "", "batches": [batch] * 2}))
    with job(run_dir, "rollout", e="02", s="001"):
        snap = look(run_dir)
    assert (snap.steps_done, snap.steps, snap.steps_of_epoch) == (3, 5, 2)


def test_results_behind_the_place_are_those_of_an_earlier_session(run_dir: Path) -> None:
    """Step 2 is made again: what epoch 1 ended with before counts no more, and its old gate neither."""
    begin_session(run_dir, CONFIG)
    with job(run_dir, "rollout", e="01", s="002"):
        snap = look(run_dir)
        assert (snap.place, snap.steps_done, dict(snap.validations)) == (Place(1, 2), 1, {})
        assert snap.best == (0.375, 0)
        assert snap.batch is None
    write_text(run_dir / "e01/s002/rollout.json", canonical({"rows": [{"right": True}, {"right": False}]}))
    with job(run_dir, "gate", e="01", s="002", t="beta"):
        snap = look(run_dir)
        assert snap.batch == (1, 2)
        assert {row.type_slug: row.state for row in snap.gates} == {"alpha": "waits", "beta": "climbs"}
    assert place_of([], [Milestone(Place(2, 1), "step", 1.0), Milestone(Place(1, 2), "step", 5.0)]) == (
        Place(1, 2)
    )


@pytest.mark.parametrize(
    ("rule", "wildcards", "stage"),
    [
        ("baseline", {}, "prepares"),
        ("plan", {"e": "02"}, "epoch 2 of 2  plans"),
        ("val_eval", {"e": "01"}, "epoch 1 of 2  slow update"),
        ("settle", {"e": "01", "s": "003"}, "epoch 1 of 2  step 3 of 3"),
        ("final_test", {}, "delivers"),
    ],
)
def test_every_job_has_its_place(run_dir: Path, rule: str, wildcards: dict[str, str], stage: str) -> None:
    begin_session(run_dir, CONFIG)
    with job(run_dir, rule, **wildcards):
        assert shown(look(run_dir)).splitlines()[1].startswith(stage)


@pytest.mark.parametrize(("stop", "stage"), [("all 1 epochs are done", "deliver"), ("", "step")])
def test_after_the_plan_that_stops_comes_the_delivery(run_dir: Path, stop: str, stage: str) -> None:
    """Between two jobs only the artefacts say where the run is."""
    begin_session(run_dir, CONFIG)
    write_text(run_dir / "e02/plan.json", canonical({"epoch": 2, "stop": stop, "batches": []}))
    assert look(run_dir).place.stage == stage


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
