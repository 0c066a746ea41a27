"""The ten steps of the slow update as rules: each has its own, with artefacts of its own (SPEC §7)."""

from pathlib import PurePath
from types import SimpleNamespace
from typing import Any

import yaml

from benchmarks.in_process import ROOT, Rule, Rules
from skillmake.config.load import overlay

# By step of SPEC §7; a step that only some runs have is part of this one
STEPS = {
    1: {"val_eval": ["validation"]},
    2: {"soft_eval": ["soft"], "scores": ["scores"]},
    3: {"write_back": ["observed_state"]},
    4: {"probations": ["settled_state", "settled_texts", "probation"]},
    5: {"best": ["settled_best"]},
    6: {"momentum": ["momentum", "momentum_texts"]},
    7: {"prompts": ["prompts", "prompts_texts"]},
    8: {"val_eval2": ["validation2", "best", "texts"]},
    9: {"holdout": ["holdout"], "epoch_report": ["report"]},
    10: {"epoch_end": ["state"]},
}


def rules() -> dict[str, Rule]:
    params: dict[str, Any] = {}
    for name in ("params.yaml", "configs/rehearsal-judges.yaml"):
        params = overlay(params, yaml.safe_load((ROOT / name).read_text()))
    params = overlay(params, {"slow": {"run_holdout_eval": True}})
    return Rules(params, SimpleNamespace()).found


def of_the_end(part: dict[str, Any]) -> list[str]:
    """Names of the files of a rule that lie at an epoch's end; what a function finds is of before it."""
    paths = [path for value in part.values() if not callable(value) for path in _listed(value)]
    return [PurePath(path).stem for path in paths if "/end/" in path]


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_each_step_is_a_rule_with_its_own_artefacts_and_reads_only_those_of_earlier_steps() -> None:
    found, there = rules(), set[str]()
    for step in STEPS.values():
        for name, made in step.items():
            assert of_the_end(found[name].parts["output"]) == made
            assert set(of_the_end(found[name].parts["input"])) <= there, name
            there |= set(made)
    ending = {name for name, rule in found.items() if of_the_end(rule.parts.get("output", {}))}
    assert ending == {name for step in STEPS.values() for name in step}


def test_probations_see_what_r_has_written_back_and_the_best_is_what_r_has_measured() -> None:
    """A version that a rollback, momentum or new prompts have made was not measured by R."""
    found = rules()
    assert "observed_state" in of_the_end(found["probations"].parts["input"])
    assert of_the_end(found["best"].parts["input"]) == ["validation", "scores"]
    assert "settled_texts" in of_the_end(found["momentum"].parts["input"])


def test_an_epoch_has_its_report_before_the_next_one_can_begin() -> None:
    assert "report" in of_the_end(rules()["epoch_end"].parts["input"])
