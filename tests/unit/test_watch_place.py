"""Where a run is, and how long it takes still."""

from pathlib import Path

import pytest

from skillmake.artifacts import canonical, write_text
from skillmake.pulse import begin_session
from skillmake.watch.place import Milestone, Place, place_of
from tests.watching import CONFIG, job, look, shown


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
