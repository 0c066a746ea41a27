"""Two task types of a step on one skill file stop the step before anything is asked for it (SPEC §3)."""

import pytest

from benchmarks.ablations import base_params
from benchmarks.in_process import Run, workshop
from skillmake.config.load import overlay
from skillmake.errors import DataError

SHARED = {
    "data": {"own_skill_per_type": False},
    "rehearsal": {"types": 2, "units_per_type": 24},
    "train": {"epochs": 1, "batch_size": 24},
}
STEP = "runs/rehearsal-judges/e01/s001"


def test_two_types_on_the_shared_skill_end_the_step_before_its_rollouts() -> None:
    with workshop() as memory:
        run = Run(overlay(base_params(), SHARED), memory)
        run.make("runs/rehearsal-judges/e01/plan.json")
        asked = len(memory.answers)
        with pytest.raises(DataError, match=r"both use the skill file default-strategy/SKILL\.md"):
            run.make(f"{STEP}/gate/parcel-desk.json")
        assert len(memory.answers) == asked > 0
