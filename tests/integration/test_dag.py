"""The DAG: same bytes, nothing twice, nothing lost (issue of the walking whole; DESIGN §4)."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable

import pytest

from tests.integration.conftest import Project

pytestmark = pytest.mark.dag
Make = Callable[[str], Project]


def test_one_core_and_eight_give_the_same_bytes_and_then_nothing_is_to_do(project: Make) -> None:
    one, eight = project("one"), project("eight")
    one.train(cores=1)
    eight.train(cores=8)
    assert one.artefacts() == eight.artefacts()
    assert len(one.artefacts()) > 40
    before = one.paid()
    assert "Nothing to be done" in one.train(cores=8)
    assert one.paid() == before
    assert max(Counter(before).values()) == 1
    text = b"".join(one.artefacts().values()).decode()
    assert str(one.root) not in text
    assert os.uname().nodename not in text or len(os.uname().nodename) < 4


def test_a_killed_run_continues_and_ends_with_the_same_bytes(project: Make) -> None:
    whole, killed = project("whole"), project("killed")
    whole.train()
    chance = random.Random(5)
    for _ in range(3):
        process = killed.start(cores=2)
        time.sleep(chance.uniform(3, 7))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    killed.train()
    assert killed.artefacts() == whole.artefacts()
    assert max(Counter(killed.paid()).values()) == 1


def test_a_gate_parameter_reruns_gates_and_what_follows(project: Make) -> None:
    changed, fresh = project("changed"), project("fresh")
    changed.train()
    before = Counter(changed.paid())
    changed.change("gate", n_max=6)
    logs = changed.job_logs()
    changed.train()
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
    assert changed.artefacts() == fresh.artefacts()


def test_a_second_snakemake_says_so_and_leaves(project: Make) -> None:
    busy = project("busy")
    first = busy.start(cores=1)
    try:
        while not list(busy.root.glob("runs/tiny/data/*.json")):
            assert first.poll() is None
            time.sleep(0.05)
        assert "another snakemake trains in this directory" in busy.train(ok=False)
    finally:
        assert first.wait() == 0


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
