"""The DAG: same bytes, nothing twice, nothing lost (issue of the walking whole; DESIGN §4)."""

import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.kill_campaign import Tally, differing, start_and_kill
from skillmake.llm.cost import Spent
from skillmake.packing import PACK
from skillmake.watch.snapshot import Watcher
from tests.integration.conftest import Project

pytestmark = pytest.mark.dag
Make = Callable[[str], Project]


def test_a_run_killed_capped_and_damaged_ends_like_one_that_is_left_alone(project: Make) -> None:
    alone, work = project("alone"), project("work")
    for each in (alone, work):
        each.change("train", epochs=1)
    alone.train(cores=1)
    paid = alone.paid()
    assert max(Counter(paid).values()) == 1
    assert len(alone.artefacts()) > 40

    chance, tally = random.Random(5), Tally()
    for _ in range(2):
        start_and_kill(work, 8, chance, tally)
    stored = len(list(Path(work.env["SKILLMAKE_CACHE"]).glob("calls/*/[!.]*.json")))
    stop_at_a_cap(work, spent(work) + (len(paid) - stored) // 2)
    start_and_kill(work, 8, chance, tally)
    work.train(cores=8)
    assert tally.kills > 0
    assert tally.manual == 0
    assert differing(alone, work) == []
    # An answer that was stored and not yet logged when its process was killed has no line
    assert set(work.paid()) <= set(paid)
    assert max(Counter(work.paid()).values()) == 1

    damage(work)
    assert differing(alone, work) == []
    assert "Nothing to be done" in work.train(cores=8)
    text = b"".join(work.artefacts().values()).decode()
    assert str(work.root) not in text
    assert os.uname().nodename not in text or len(os.uname().nodename) < 4


def stop_at_a_cap(work: Project, calls: int) -> None:
    """It says why it stops and what is spent; the limit is raised again."""
    work.change("limits", max_calls=calls)
    told = work.train(cores=8, ok=False)
    assert spent(work) == calls
    assert f"limits.max_calls: {calls} of {calls} are spent\n    → raise the limit" in told
    assert re.search(rf"runs/tiny stopped: \d+ of \d+ jobs .* Spent in all: {calls} calls, ", told)
    assert "Traceback" not in told
    assert "skillmake.job" not in told
    work.change("limits", max_calls=None)


def spent(work: Project) -> int:
    return Spent.read(work.root / "runs/tiny/log").calls


def damage(work: Project) -> None:
    """An artefact, a delivered skill, their step results and an answer: each is told and made again."""
    artefact = work.root / "runs/tiny/e01/end/validation.json"
    key = json.loads(artefact.read_text())["rows"][0]["calls"][0]
    cache = Path(work.env["SKILLMAKE_CACHE"])
    answer = cache / "calls" / key[:2] / f"{key}.json"
    skill = next(work.root.glob("skills/*/SKILL.md"))
    skill.write_text(skill.read_text() + "- Guess.\n")
    for path in (artefact, answer, *(cache / "steps").rglob("*.json")):
        os.truncate(path, path.stat().st_size // 2)
    told = work.train(cores=8)
    for path in (artefact, skill):
        name = path.relative_to(work.root)
        assert f"{name}: changed since it was made; kept in .snakemake/skillmake/changed/" in told
    assert f"{answer}: this answer was damaged; it is asked for again" in told
    assert told.count("this step result was damaged; the step is made again") > 1


def test_a_gate_parameter_reruns_gates_and_what_follows(project: Make) -> None:
    changed, fresh = project("changed"), project("fresh")
    changed.train()
    before = Counter(changed.paid())
    changed.change("gate", n_max=6)
    logs = changed.job_logs()
    no_room_for_the_pack(changed)
    # A job opens its log anew: those with another time have run.
    ran = Counter(
        name.split(".")[-1] for name, time_ns in changed.job_logs().items() if logs.get(name) != time_ns
    )
    assert ran["gate"] > 0
    for untouched in ("questions", "pools", "seed", "baseline", "init"):
        assert ran[untouched] == 0
    assert max(Counter(changed.paid()).values()) == 1
    assert sum(before.values()) <= len(changed.paid())
    fresh.change("gate", n_max=6)
    fresh.train()
    assert differing(fresh, changed) == []


def no_room_for_the_pack(work: Project) -> None:
    """A run that cannot be packed fails until there is room; then it is packed by a start without a job."""
    in_the_way = work.root / f".{PACK}"
    in_the_way.mkdir()
    told = work.train(ok=False)
    again = work.train(ok=False)
    assert "Nothing to be done" in again
    for each in (told, again):
        assert each.count(f"{PACK}: cannot be written: Is a directory\n  → make room or give access") == 1
        assert "Traceback" not in each
    watcher = Watcher(work.root / "runs/tiny")
    assert watcher.look(time.time()).status == "failed"
    in_the_way.rmdir()
    assert "Nothing to be done" in work.train()
    assert watcher.look(time.time()).status == "finished"


def test_a_second_snakemake_says_so_and_leaves(project: Make) -> None:
    busy = project("busy")
    first = busy.start(cores=1)
    try:
        while not list(busy.root.glob("runs/tiny/data/*.json")):
            assert first.poll() is None
            time.sleep(0.05)
        assert "another snakemake trains in this directory" in busy.train(ok=False)
        watcher = Watcher(busy.root / "runs/tiny")
        seen = [watcher.look(time.time())]
        while first.poll() is None:
            time.sleep(0.05)
            seen.append(watcher.look(time.time()))
    finally:
        assert first.wait() == 0
    last = watcher.look(time.time())
    assert {snap.status for snap in seen} <= {"training", "finished"}
    assert any(snap.jobs for snap in seen)
    assert [snap.place for snap in seen] == sorted(snap.place for snap in seen)
    assert (last.status, last.steps_done, last.broken) == ("finished", last.steps, [])
    assert (last.calls.paid, last.calls.errors) == (len(busy.paid()), 0)


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("gate", {"n_maxx": 4}, "gate.n_maxx: unknown parameter; did you mean `gate.n_max`?"),
        ("gate", {"n_max": 0}, "gate.n_max: Input should be greater than or equal to 1, got 0"),
        ("train", {"trainable_min_units": 500}, "trainable"),
        ("data", {"questions": "missing.jsonl"}, "missing.jsonl"),
    ],
)
def test_a_users_mistake_is_one_message(
    project: Make, section: str, values: dict[str, object], message: str
) -> None:
    wrong = project("wrong")
    wrong.change(section, **values)
    output = wrong.train(ok=False)
    assert message in output
    assert "Traceback" not in output
