"""What a user names for infer, eval, diagnose and promote, found in a run (SPEC §8)."""

import json
from pathlib import Path

import pytest

from skillmake.chosen import (
    Chosen,
    check_free,
    choose,
    folder_name,
    holder,
    labelled_rollouts,
    no_such_seed,
    questions_of,
    versions_of,
)
from skillmake.errors import DataError
from tests.small_run import SEED, SmallRun


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SmallRun:
    return SmallRun(tmp_path_factory.mktemp("project"))


def place(run: SmallRun, name: str) -> str:
    return choose(run.folder, name).file.relative_to(run.folder).as_posix()


def test_names_lead_to_the_artefact_that_holds_the_version(run: SmallRun) -> None:
    assert place(run, "seed") == place(run, "epoch:0") == "data/texts.json"
    assert place(run, "epoch:1") == place(run, "current") == "e01/end/texts.json"
    assert place(run, "best") == "e01/end/best.json"
    assert choose(run.folder, "best").skills == run.best.best.skills
    assert choose(run.folder, "current").skills == run.texts.skills.digest


def test_current_is_where_the_loop_has_come_to_and_best_the_seed_before_an_epoch_has_ended(
    tmp_path: Path,
) -> None:
    started = SmallRun(tmp_path)
    for path in (started.folder / "e01" / "end").iterdir():
        path.unlink()
    assert place(started, "current") == "e01/s003/texts.json"
    assert place(started, "best") == "init/best.json"


def test_a_prefix_leads_to_the_first_artefact_of_the_version(run: SmallRun) -> None:
    first = Chosen.of(run.folder / "e01/s001/texts.json")
    assert choose(run.folder, first.skills[:6]) == first
    assert choose(run.folder, SEED.prompts.digest).file == run.folder / "data/texts.json"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ffff", "holds no version that starts so\n  → current, best, seed, epoch:N, or one of: "),
        ("", "several versions of "),
        ("epoch:2", "has no such end of an epoch\n  → it has epoch:1"),
    ],
)
def test_a_version_that_is_not_there_is_said(run: SmallRun, name: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        choose(run.folder, name)
    assert message in str(caught.value)


def test_a_run_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such run"):
        choose(tmp_path / "runs" / "other", "best")


def test_rollouts_lead_to_the_texts_they_were_made_with(run: SmallRun) -> None:
    validation = run.folder / "e01/end/validation.json"
    found = holder(run.folder, *versions_of(validation))
    assert found == run.folder / "e01/s003/texts.json"
    assert holder(run.folder, SEED.skills.digest, SEED.prompts.digest) == run.folder / "data/texts.json"
    with pytest.raises(DataError, match="does not hold skills abc with prompts def"):
        holder(run.folder, "abc", "def")


def test_what_has_no_rollouts_is_said(run: SmallRun) -> None:
    for name in ("init/state.json", "data/questions.jsonl"):
        with pytest.raises(DataError, match="not a file of rollouts"):
            versions_of(run.folder / name)


def test_rollouts_are_labelled_by_epoch_and_step_or_by_their_path(tmp_path: Path) -> None:
    files = ["e01/s002/rollout.json", "e01/s010/rollout.json", "final_test.json"]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert list(labelled_rollouts(tmp_path, None)) == ["01.002", "01.010"]
    given = [str(tmp_path / files[2]), str(tmp_path / files[0])]
    assert list(labelled_rollouts(tmp_path, given)) == ["final_test", "01.002"]
    with pytest.raises(DataError, match=r"none\.json: no such file"):
        labelled_rollouts(tmp_path, ["none.json"])
    with pytest.raises(DataError, match="has no rollouts of steps"):
        labelled_rollouts(tmp_path / "e01", None)


def test_questions_beside_rollouts_go_before_those_of_the_run(tmp_path: Path) -> None:
    rollouts = tmp_path / "modes/infer/new/rollout.json"
    assert questions_of(tmp_path, rollouts) == tmp_path / "data/questions.jsonl"
    rollouts.parent.mkdir(parents=True)
    (rollouts.parent / "questions.jsonl").touch()
    assert questions_of(tmp_path, rollouts) == rollouts.parent / "questions.jsonl"


@pytest.mark.parametrize(
    ("text", "name"), [("new", "new"), ("epoch:2", "epoch.2"), ("a b/{c}.d", "a.b.c.d"), ("../x", "x")]
)
def test_a_folders_name_is_plain(text: str, name: str) -> None:
    assert folder_name(text) == name


def test_a_seed_is_not_overwritten_by_another_version(tmp_path: Path) -> None:
    seed = tmp_path / "strong"
    check_free(seed, "a", "b")
    seed.mkdir()
    check_free(seed, "a", "b")
    (seed / "mine.md").write_text("x")
    with pytest.raises(DataError, match="is there already: not a promoted seed"):
        check_free(seed, "a", "b")
    (seed / "seed.json").write_text(json.dumps({"skills": "a", "prompts": "b"}))
    check_free(seed, "a", "b")
    with pytest.raises(DataError, match="is there already: skills a with prompts b"):
        check_free(seed, "a", "c")


def test_a_seed_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    assert "no such seed.\n  → `snakemake" in str(no_such_seed(tmp_path / "strong"))
    (tmp_path / "strong").mkdir()
    (tmp_path / "strong/seed.json").touch()
    said = str(no_such_seed(tmp_path / "stronk"))
    assert "Did you mean `strong`?" in said
    assert "data.seed may be strong" in said
