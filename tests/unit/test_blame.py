"""Blame of a small run: the edit, step, cases and calls behind each line (SPEC §2, §5, §6)."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from skillmake.blame import Blame, blame_file, blame_version
from skillmake.blame_text import blame_text
from skillmake.edits import Edit, EditReport
from skillmake.errors import DataError
from skillmake.history import History, read_history
from tests.small_run import ALPHA, BETA, SmallRun, decided, seed_text


@pytest.fixture
def run(tmp_path: Path) -> SmallRun:
    return SmallRun(tmp_path)


def origins(blame: Blame) -> list[tuple[str, str]]:
    """Each line that is not empty, with `seed`, `hand`, the edit's reason, or the version's source."""
    out = []
    for line in blame.lines:
        note, edit = line.origin.note, line.origin.edit
        if note is None:
            name = "hand"
        elif line.origin.is_seed:
            name = "seed"
        else:
            name = edit.reason if edit else note.source
        if line.text:
            out.append((line.text, name))
    return out


def of_file(run: SmallRun, path: str, text: str | None = None) -> Blame:
    """Blame of the file as the last version has it, or of another text in its place."""
    file = run.root / "skills" / path
    return blame_file(read_history(run.folder), file, run.texts.skills.files[path] if text is None else text)


def shown(run: SmallRun, blame: Blame, *, all_calls: bool = False) -> dict[str, str]:
    """What is told of each origin, by its number, on one line."""
    text = blame_text(read_history(run.folder), blame, all_calls=all_calls)
    blocks = [" ".join(block.split()) for block in text.split("\n\n[")[1:]]
    return {block.split("]")[0]: block for block in blocks}


FRONT = [("---", "seed"), ("name: alpha", "seed"), ("description: How to.", "seed"), ("---", "seed")]


def test_each_line_has_the_edit_that_brought_it(run: SmallRun) -> None:
    assert origins(of_file(run, ALPHA)) == [
        *FRONT,
        ("## Rules", "seed"),
        ("- Read all of it.", "skimmed"),
        ("- Say alpha.", "seed"),
        ("- Look twice.", "haste"),
        ("- Look thrice.", "still haste"),
        ("Keep calm.", "momentum of epoch 1"),
    ]


def test_what_a_rollback_brings_back_is_the_seeds_again(run: SmallRun) -> None:
    blame = of_file(run, BETA)
    assert {name for _, name in origins(blame)} == {"seed"}
    assert [line.text for line in blame.lines] == seed_text("beta").splitlines()


def test_a_line_that_was_rolled_back_is_explained_in_the_version_that_had_it(run: SmallRun) -> None:
    best = run.best.texts.skills
    blame = of_file(run, BETA, best.files[BETA])
    assert blame.version == ("skills", best.digest)
    assert ("- Guess.", "a hunch") in origins(blame)


def test_the_story_of_a_line(run: SmallRun) -> None:
    told = shown(run, of_file(run, ALPHA))
    assert [re.split(" version [0-9a-f]{12} ", block)[0] for block in told.values()] == [
        "1] replace: skimmed",
        "2] add in Rules: haste",
        "3] add: still haste",
        "4] no single edit: the version as a whole",
    ]
    assert "epoch 1, step 1 (step 1: alpha)" in told["2"]
    assert "cases q1, q2 (edit)" in told["2"]
    assert "cases p1, p2 (pack)" in told["1"]
    assert "gate accept (confirmed): W 9, L 1 of 12 units, e 9.50" in told["2"]
    assert "teacher calls teach-alpha candidate calls new-alpha baseline calls old-alpha" in told["2"]
    assert told["4"].endswith(
        "why guidance in alpha/SKILL.md artefact e01/end/momentum.json teacher calls guide"
    )


def test_a_carried_candidate_has_the_cases_and_calls_of_the_step_that_made_it(run: SmallRun) -> None:
    """Carrying adds the units of its ladders to the pack and drops its calls."""
    assert run.state.versions[-3].source == "step 3: alpha"
    told = shown(run, of_file(run, ALPHA))["3"]
    assert "step epoch 1, step 3" in told
    assert "cases p1, p2 (pack) carried proposed at step 2, carried 1 times" in told
    assert "W 8, L 1" in told
    assert "teacher calls teach-alpha " in told


def test_many_calls_are_cut_short_unless_asked_for(run: SmallRun) -> None:
    keys = [f"{k:02d}" + "f" * 30 for k in range(9)]
    blame = of_file(run, ALPHA)
    (line,) = [line for line in blame.lines if line.text == "- Look twice."]
    assert line.origin.gate is not None
    many = replace(line.origin, gate=replace(line.origin.gate, candidate_calls=tuple(keys)))
    blame = replace(blame, lines=(replace(line, origin=many),))
    assert f"calls {', '.join(key[:12] for key in keys[:6])} and 3 more baseline" in shown(run, blame)["1"]
    assert f"calls {', '.join(keys)} baseline" in shown(run, blame, all_calls=True)["1"]


def test_lines_changed_by_hand_say_so(run: SmallRun) -> None:
    """They are compared with the best version, which is the one that is delivered."""
    text = run.best.texts.skills.files[ALPHA].replace("- Look twice.", "- Look up.")
    blame = of_file(run, ALPHA, text)
    assert [pair for pair in origins(blame) if pair[1] in ("hand", "haste")] == [("- Look up.", "hand")]
    printed = blame_text(read_history(run.folder), blame, all_calls=False)
    assert "hand   10  - Look up." in printed
    assert f"hand: changed by hand since version {run.best.best.skills}" in printed


def test_a_file_of_a_version_is_blamed_as_that_version(run: SmallRun) -> None:
    run.deliver()
    history = read_history(run.folder)
    digest = run.texts.skills.digest
    file = run.folder / "versions" / "skills" / digest / BETA
    assert blame_file(history, file, file.read_text()).version == ("skills", digest)
    prompts = sorted(run.root.rglob("system.md"))
    assert len(prompts) == 2
    for prompt in prompts:
        assert origins(blame_file(history, prompt, prompt.read_text())) == [("Answer.", "seed")]


def test_a_file_that_no_version_has_is_an_error(run: SmallRun) -> None:
    with pytest.raises(DataError, match=r"gamma/SKILL\.md: no version of run small has such a file"):
        blame_file(read_history(run.folder), run.root / "gamma" / "SKILL.md", "x")


def test_a_version_whose_text_is_lost_leaves_its_lines_to_the_next(run: SmallRun) -> None:
    history = read_history(run.folder)
    lost = next(key for key, note in history.notes.items() if note.source == "step 1: alpha")
    kept = {key: version for key, version in history.versions.items() if key != lost}
    lines = blame_version(replace(history, versions=kept), "skills", run.texts.skills.digest, ALPHA)
    (line,) = [line for line in lines if line.text == "- Look twice."]
    assert line.origin.note is not None
    assert line.origin.note.source == "step 1: beta"
    assert line.origin.edit is not None
    assert line.origin.edit.reason == "haste"


def after_one_more(run: SmallRun, text: str, *edits: Edit) -> History:
    """The run with a fourth step that accepts `text` for alpha, as made by `edits`."""
    reports = tuple(EditReport(edit=edit, status="applied") for edit in edits)
    tried = run.candidate("alpha", ()).model_copy(update={"text": text, "reports": reports})
    run.step("e02/s001", 4, [decided(tried, "accept", "confirmed", 9)])
    return read_history(run.folder)


def test_a_rewrite_brings_the_lines_it_changed(run: SmallRun) -> None:
    text = run.texts.skills.files[ALPHA].replace("- Say alpha.", "- Say it.")
    edit = Edit(op="replace", section="*", text=text, reason="rewrite")
    after_one_more(run, text, edit)
    assert [text for text, name in origins(of_file(run, ALPHA)) if name == "rewrite"] == ["- Say it."]


def test_a_line_that_moves_keeps_its_origin(run: SmallRun) -> None:
    text = run.texts.skills.files[ALPHA]
    text = text.replace("- Look twice.\n", "").replace("## Rules\n\n", "## Rules\n\n- Look twice.\n")
    after_one_more(run, text, Edit(op="replace", section="*", text=text, reason="rewrite"))
    found = dict(origins(of_file(run, ALPHA)))
    assert found["- Look twice."] == "haste"
    assert "rewrite" not in found.values()


def test_what_no_edit_explains_belongs_to_the_version(run: SmallRun) -> None:
    """As after the appendix was consolidated: two edits were applied, and a line is neither's."""
    edits = [Edit(op="add", section="Rules", text=f"- {word}.", reason=word) for word in ("one", "two")]
    text = run.texts.skills.files[ALPHA].replace("- Look thrice.", "- Look thrice.\n- one.\n- two.\n- other.")
    after_one_more(run, text, *edits)
    found = dict(origins(of_file(run, ALPHA)))
    assert (found["- one."], found["- two."], found["- other."]) == ("one", "two", "step 4: alpha")
