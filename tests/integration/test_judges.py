"""Training by judges in the real DAG: bad ones stop it before anything is edited, fair ones improve it.

The benchmarks' run in one process leaves the same artefacts.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.in_process import Run, workshop
from skillmake.memo import payload_digest
from tests.integration.conftest import Project

pytestmark = pytest.mark.dag


def test_bad_judges_stop_the_training_and_better_ones_go_on(project: Callable[[str], Project]) -> None:
    run = project("judges")
    run.change("diagnose", method="judges", right_sample=2)
    run.change("train", epochs=1, batch_size=24)
    run.change("rehearsal", judge_error=0.6)
    run.train(ok=False)
    log = (run.root / "runs/tiny/log/e01.s001.diagnose.log").read_text()
    assert "the judges gave nothing usable for" in log
    assert not list(run.root.glob("runs/tiny/e01/s001/candidate/*"))

    run.change("rehearsal", judge_error=0.2)
    run.train()
    metrics: dict[str, Any] = run.metrics()
    assert metrics["calls"]["judge"] > 0
    assert metrics["rehearsal"]["true_accuracy"]["gain"] > 0
    log = (run.root / "runs/tiny/log/e01.s001.diagnose.log").read_text()
    assert '"cost":0.0' in log

    with workshop() as memory:
        same = Run(run.values(), memory)
        same.train()
        assert len(same.made) > 30
        for path in sorted(same.made):
            assert payload_digest(Path(path)) == payload_digest(run.root / path), path
