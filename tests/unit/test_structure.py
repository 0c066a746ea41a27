"""Structural parameters of a run that has started are not changed under it (SPEC §8)."""

from pathlib import Path
from typing import Any

import pytest

from skillmake.artifacts import read_json
from skillmake.config.load import hashed_part, parse_config, pick
from skillmake.config.models import Config
from skillmake.errors import ConfigError
from skillmake.structure import STRUCTURAL, check_unchanged, record, structure_of

FILES = [Path("q.jsonl"), Path("skills/a/SKILL.md")]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that has started with the default parameters."""
    monkeypatch.chdir(tmp_path)
    FILES[1].parent.mkdir(parents=True)
    for path in FILES:
        path.write_text("old")
    folder = Path("runs/main")
    record(folder, structure_of(Config()), FILES)
    (folder / "data").mkdir()
    (folder / "data" / "baseline.json").write_text("{}")
    return folder


def refused(run: Path, files: list[Path] = FILES, **sections: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check_unchanged(run, structure_of(parse_config(sections)), files)
    return str(caught.value)


def test_the_same_parameters_and_other_decisions_go_on(run: Path) -> None:
    decided = {"gate": {"n_max": 7}, "train": {"epochs": 5}, "limits": {"slots": 1}, "run": "other"}
    for sections in ({}, decided, {"evolve": {"edit_budget_start": 30}}, {"modes": {"version": "best"}}):
        check_unchanged(run, structure_of(parse_config(sections)), FILES)


def test_every_difference_is_listed_with_its_path_old_and_new(run: Path) -> None:
    text = refused(
        run,
        seed=2,
        task_types=["a"],
        train={"batch_size": 40, "epochs": 9},
        data={"pools": {"diagnosis": 0.3, "validation": 0.4}},
        models={"student": {"model": "m"}},
        agent={"grader": "exact"},
    )
    assert text == (
        "runs/main was started with other structural parameters:\n"
        "  agent.grader: choice → exact\n"
        "  data.pools.diagnosis: 0.33 → 0.3\n"
        "  data.pools.validation: 0.37 → 0.4\n"
        "  models.student.model: SmolLM2-135M-Instruct → m\n"
        "  seed: 1 → 2\n"
        "  task_types: None → ['a']\n"
        "  train.batch_size: 150 → 40\n"
        "  → name another run (`--config run=NAME`), or start this one afresh after `skillmake archive main`"
    )


def test_other_content_of_the_questions_or_the_seed_texts_is_a_difference(run: Path) -> None:
    FILES[0].write_text("new")
    assert "  content of q.jsonl: sha256 cba06b5736fa… → sha256 11507a0e2f5e…\n" in refused(run)
    FILES[0].write_text("old")
    check_unchanged(run, structure_of(Config()), FILES)
    assert "content of skills/a/SKILL.md: sha256 cba06b5736fa… → no such file" in refused(run, FILES[:1])
    more = Path("skills/b.md")
    more.write_text("new")
    assert "content of skills/b.md: no such file → sha256" in refused(run, [*FILES, more])


def test_where_the_path_has_changed_the_content_is_no_news(run: Path) -> None:
    assert "content of" not in refused(run, FILES[1:], data={"questions": "p.jsonl"})


def test_as_long_as_nothing_has_come_of_it_a_start_may_be_corrected(run: Path) -> None:
    (run / "data" / "baseline.json").unlink()
    other = structure_of(parse_config({"seed": 2}))
    check_unchanged(run, other, FILES)
    record(run, other, FILES)
    assert read_json(run / "structure.json")["parameters"]["seed"] == 2
    (run / "e01").mkdir()
    record(run, structure_of(Config()), FILES)
    assert read_json(run / "structure.json")["parameters"]["seed"] == 2, "it has started now"


def test_a_run_of_an_older_version_is_recorded_when_it_goes_on(run: Path) -> None:
    (run / "structure.json").unlink()
    check_unchanged(run, structure_of(parse_config({"seed": 2})), FILES)
    record(run, structure_of(Config()), FILES)
    assert "seed: 1 → 2" in refused(run, seed=2)


def test_the_world_and_the_videos_count_only_where_they_are_used() -> None:
    plain = structure_of(parse_config({"rehearsal": {"seed": 4}, "data": {"videos": "v"}})).parameters
    assert not [name for name in plain if name.startswith("rehearsal") or name == "data.videos"]
    world = structure_of(
        parse_config({"rehearsal": {"seed": 4}, "models": {"student": {"provider": "rehearsal"}}})
    ).parameters
    assert world["rehearsal.seed"] == 4
    assert "rehearsal.judge_error" not in world, "a judge is a decision, in a rehearsal as well"
    tree = structure_of(parse_config({"agent": {"environment": "tree"}})).parameters
    assert tree["data.videos"] == "data/videos"


def test_each_structural_key_is_a_parameter() -> None:
    hashed = hashed_part(Config())
    assert all(pick(hashed, (key,)) != {} for key in STRUCTURAL)
