"""The benchmark of what each part is worth: its runs, its random packs, its table."""

from pathlib import Path

from benchmarks.ablations import FULL, PARTS, Outcome, Variant, base_params, compared, messages, outcome, row
from benchmarks.in_process import Run, workshop
from skillmake.artifacts import read_model
from skillmake.config.load import overlay
from skillmake.packs import Diagnosis
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.world import world_of

TINY = {
    "rehearsal": {"types": 2, "units_per_type": 24, "rules_per_type": 2},
    "train": {"epochs": 1, "batch_size": 24},
    "diagnose": {"right_sample": 0},
}
STEP = "runs/rehearsal-judges/e01/s001"


def test_runs_of_a_workshop_share_what_is_the_same_and_random_packs_know_nothing() -> None:
    params = overlay(base_params(), TINY)
    random = next(variant for variant in PARTS if "random packs" in variant.name)
    world = world_of(WorldConfig.model_validate(params["rehearsal"]))
    here = Path.cwd()
    with workshop() as memory:
        full = outcome(params, FULL, memory)
        answers = len(memory.answers)
        assert full.seed == round(11 / 24, 6)  # base_accuracy .45 of 24 units
        assert full.seed < full.delivered <= 1
        assert full.calls["judge"] > 0
        found = read_model(f"{STEP}/diagnosis.json", Diagnosis)
        assert outcome(params, FULL, memory) == full
        assert len(memory.answers) == answers

        Run(params, memory, random.changes).make(f"{STEP}/diagnosis.json")
        assert len(memory.answers) == answers
        blind = read_model(f"{STEP}/diagnosis.json", Diagnosis)
    assert Path.cwd() == here
    assert blind.skill.keys() == found.skill.keys()
    types = {unit.unit_id: unit.task_type for unit in world.units.values()}
    for task_type, pack in blind.skill.items():
        told = [(case.right, case.verdict, case.notes) for case in pack.cases]
        assert told == [(case.right, case.verdict, case.notes) for case in found.skill[task_type].cases]
        assert [case.question_id for case in pack.cases] != [
            case.question_id for case in found.skill[task_type].cases
        ]
        assert all(types[case.unit_id] == task_type for case in pack.cases)
        assert all((case.prediction == case.answer) == case.right for case in pack.cases)


def test_a_row_counts_the_runs_that_ended_in_pairs() -> None:
    calls = {"student": 1000, "teacher": 10, "judge": 100}
    full = [Outcome(0.4, accuracy, {"useful": 3}, calls) for accuracy in (0.5, 0.6, 0.9)]
    mine = [Outcome(0.4, 0.6, {"useful": 1, "useless": 3}, calls), Outcome(0.4, 0.8, {}, calls)]
    stopped = Outcome(stopped="the judges gave nothing usable for 9 of 9 wrong answers")
    # Mean .7 with deviation .2/√2, over √2; differences .1 and .2, which a resample may hold twice each
    wanted = "| some | 1 | 0.700 ± 0.100 | +0.150 [+0.100, +0.200] | better "
    wanted += "| 0.50 | 1.50 | 0.00 | 1,000 | 10 | 100 |"
    variant = Variant("some")
    assert row(variant, [*mine, stopped], full) == wanted
    assert row(variant, [stopped] * 3, full) == "| some | 3" + " | –" * 9 + " |"
    assert row(FULL, full, full).startswith("| everything | 0 | 0.667 ± 0.120 |  |  | 3.00 | 0.00 |")
    assert compared([-0.2, -0.1]) == ["-0.150 [-0.200, -0.100]", "worse"]
    assert compared([-0.1, 0.1]) == ["+0.000 [-0.100, +0.100]", "no difference shown"]
    assert compared([0.0, 0.0]) == ["+0.000 [+0.000, +0.000]", "the same in every run"]
    assert list(messages([*mine, stopped])) == [f"- 1 runs, such as: {stopped.stopped}"]
