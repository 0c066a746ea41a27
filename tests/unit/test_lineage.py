"""Lineage and diff of a small run: where versions come from, and how two of them differ (SPEC §2, §6)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skillmake.compare import compare_text, side_by_side
from skillmake.errors import DataError
from skillmake.history import History, read_history
from skillmake.lineage import ancestry, find_version, gates_of, lineage_text, one_kind
from skillmake.slow import Validation
from skillmake.state import VersionNote
from tests.small_run import ALPHA, BETA, SEED, SmallRun, seed_text


@pytest.fixture
def run(tmp_path: Path) -> SmallRun:
    return SmallRun(tmp_path)


@pytest.fixture
def history(run: SmallRun) -> History:
    return read_history(run.folder)


def last(run: SmallRun) -> tuple[str, str]:
    return "skills", run.texts.skills.digest


# --- the chain ------------------------------------------------------------------------
def test_the_ancestry_leads_through_every_version_to_the_seed(run: SmallRun, history: History) -> None:
    assert [(note.source.split(" to ")[0], note.step) for note in ancestry(history, *last(run))] == [
        ("momentum of epoch 1", 3),
        ("rollback of beta", 3),
        ("step 3: alpha", 3),
        ("step 1: beta", 1),
        ("step 1: alpha", 1),
        ("seed", 0),
    ]


def test_each_version_has_the_gate_that_let_it_in(run: SmallRun, history: History) -> None:
    found = [[g.decision.numbers.wins for g in gates_of(history, n)] for n in ancestry(history, *last(run))]
    assert found == [[], [], [8], [3], [9], []]


def test_a_version_between_two_changes_of_one_step_is_rebuilt(history: History) -> None:
    (between,) = [note for note in history.notes.values() if note.source == "step 1: alpha"]
    files = history.files("skills", between.digest)
    assert files is not None
    assert files[BETA] == seed_text("beta")
    assert "- Look twice." in files[ALPHA]


def test_a_version_without_a_note_is_known_by_its_texts(run: SmallRun) -> None:
    """A rule that makes versions and notes none: epoch and step are those of its file."""
    tried = run.texts.model_copy(
        update={"prompts": run.texts.prompts.changed("system.md", "Answer well.\n", "prompts of epoch 1")}
    )
    run.write("e01/end/tried.json", tried)
    chain = ancestry(read_history(run.folder), "prompts", tried.prompts.digest)
    assert [(note.source, note.epoch, note.step) for note in chain] == [
        ("prompts of epoch 1", 1, 3),
        ("seed", 0, 0),
    ]


def test_a_version_that_came_back_keeps_its_first_story_and_says_so(run: SmallRun) -> None:
    back = VersionNote(
        digest=SEED.skills.digest,
        parent=run.texts.skills.digest,
        kind="skills",
        source="rollback of all",
        epoch=2,
        step=4,
        description="harm",
    )
    later = run.state.model_copy(update={"versions": (*run.state.versions, back)})
    run.write("e02/end/state.json", later)
    history = read_history(run.folder)
    assert [note.source for note in ancestry(history, "skills", SEED.skills.digest)] == ["seed"]
    text = lineage_text(history, "skills", SEED.skills.digest)
    assert text.endswith("came back in epoch 2, step 4: rollback of all (harm)\n")


def test_a_broken_chain_is_named(run: SmallRun, history: History) -> None:
    kept = {key: note for key, note in history.notes.items() if note.source != "step 1: alpha"}
    with pytest.raises(DataError, match=r"the ancestry of skills version .* breaks at"):
        ancestry(replace(history, notes=kept), *last(run))


def test_the_table_shows_evidence_and_accuracy(history: History) -> None:
    kind, digest = one_kind(find_version(history, "best"))
    lines = lineage_text(history, kind, digest).splitlines()
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert cells[0] == [digest, "step 3: alpha", "accept", "1", "3", "8", "1", "12", "8.50", "0.500"]
    assert cells[1][1:] == ["step 1: beta", "accept_provisional", "1", "1", "3", "1", "12", "3.50", "-"]
    assert cells[-1] == [SEED.skills.digest, "seed", "-", "0", "0", "-", "-", "-", "-", "0.375"]


# --- names of versions ----------------------------------------------------------------
def test_versions_have_names(run: SmallRun, history: History) -> None:
    seed = {"skills": SEED.skills.digest, "prompts": SEED.prompts.digest}
    assert find_version(history, "seed") == find_version(history, "epoch:0") == seed
    assert find_version(history, "epoch:1")["skills"] == run.texts.skills.digest
    assert (
        find_version(history, "best")["skills"] == run.best.best.skills not in (seed["skills"], last(run)[1])
    )
    for kind, digest in history.notes:
        assert find_version(history, digest) == {kind: digest}
        assert find_version(history, digest[:6]) == {kind: digest}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("epoch:7", "no such end of an epoch"),
        ("xyz", "no version of run small starts so"),
        ("", "no version"),
    ],
)
def test_a_name_that_means_nothing_is_an_error(history: History, name: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        find_version(history, name)


def test_an_ambiguous_prefix_lists_what_it_could_mean(history: History) -> None:
    note = next(iter(history.notes.values()))
    twins = {("skills", digest): note.model_copy(update={"digest": digest}) for digest in ("abc1", "abc2")}
    with pytest.raises(DataError, match="several versions") as caught:
        find_version(replace(history, notes=twins), "abc")
    assert caught.value.hint == "give more of one: abc1, abc2"


def test_a_run_that_has_not_begun_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs" / "new" / "data").mkdir(parents=True)
    with pytest.raises(DataError, match="no state yet"):
        read_history(tmp_path / "runs" / "new")


def test_an_artefact_that_was_spoilt_is_an_error(run: SmallRun) -> None:
    path = run.folder / "e01" / "end" / "validation.json"
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "accuracy": "high"}))
    with pytest.raises(DataError, match=r"validation\.json: not a valid Validation"):
        read_history(run.folder)


# --- diff -----------------------------------------------------------------------------
def test_a_unified_diff_and_the_accuracy_of_both(run: SmallRun, history: History) -> None:
    best, seed = run.best.best.skills, SEED.skills.digest
    text = compare_text(history, "seed", best[:8], unified=True)
    assert text.startswith(f"Run small: skills version {seed} (seed) against {best} ({best[:8]})\n")
    diff = text[text.index("---") : text.index("Accuracy")]
    assert [line for line in diff.splitlines() if line[:1] in "+-" and line.strip("+-")] == [
        f"--- {seed}/{ALPHA}",
        f"+++ {best}/{ALPHA}",
        "-- Read it.",
        "+- Read all of it.",
        "+- Look twice.",
        "+- Look thrice.",
        f"--- {seed}/{BETA}",
        f"+++ {best}/{BETA}",
        "+- Guess.",
    ]
    rows = [line.replace("│", " ").split() for line in text.splitlines() if line.startswith("│")]
    assert rows == [
        ["alpha", "0.500", "1.000", "+0.500"],
        ["beta", "0.250", "0.000", "-0.250"],
        ["all", "0.375", "0.500", "+0.125"],
    ]


def test_side_by_side_marks_what_goes_comes_and_changes() -> None:
    old = [*"abcdefghijklmnop", "gone", "end"]
    new = ["A", *"bcdefghijklmnop", "end", "new"]
    rows = list(side_by_side(old, new))
    assert rows[:4] == [("a", "~", "A"), ("b", " ", "b"), ("c", " ", "c"), ("d", " ", "d")]
    assert rows[4:] == [
        None,
        ("n", " ", "n"),
        ("o", " ", "o"),
        ("p", " ", "p"),
        ("gone", "-", ""),
        ("end", " ", "end"),
        ("", "+", "new"),
    ]


def test_markup_in_a_skill_is_shown_as_it_is(run: SmallRun) -> None:
    odd = run.texts.with_skill(ALPHA, "[bold]x[/bold] :smile:\n", "odd")
    run.write("e02/end/texts.json", odd)
    text = compare_text(read_history(run.folder), "epoch:1", "epoch:2", unified=False)
    assert "[bold]x[/bold] :smile:" in text
    assert "0.500" not in text
    assert "Neither version was measured" in text


def test_a_last_line_without_newline_is_a_difference(run: SmallRun) -> None:
    cut = run.texts.with_skill(ALPHA, run.texts.skills.files[ALPHA].removesuffix("\n"), "cut")
    run.write("e02/end/texts.json", cut)
    text = compare_text(read_history(run.folder), "epoch:1", "epoch:2", unified=True)
    assert "+\\ No newline at end of file" in text


def test_the_same_version_twice_has_no_difference(history: History) -> None:
    assert "The texts are the same." in compare_text(history, "seed", "epoch:0", unified=False)


def test_versions_of_different_kinds_are_not_compared(history: History) -> None:
    with pytest.raises(DataError, match=r"is a version of the skills, .* one of the prompts"):
        compare_text(history, SEED.skills.digest, SEED.prompts.digest, unified=False)


def test_accuracies_with_the_same_prompts_are_compared_where_there_are_such(
    run: SmallRun, history: History
) -> None:
    best, seed = run.best.best.skills, SEED.skills.digest

    def measured(skills: str, prompts: str, accuracy: float) -> Validation:
        return Validation(skills=skills, prompts=prompts, accuracy=accuracy, by_type={}, rows=())

    both = [measured(seed, "p", 0.1), measured(best, "q", 0.2), measured(best, "p", 0.3)]
    text = compare_text(replace(history, validations=both), "seed", "best", unified=True)
    assert "+0.200" in text
    assert "different prompts" not in text
    text = compare_text(replace(history, validations=both[:2]), "seed", "best", unified=True)
    assert "They were measured with different prompts: p, q." in text
