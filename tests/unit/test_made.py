"""What a start finds changed among the outputs of rules."""

from pathlib import Path

import pytest

from skillmake.files import write_text
from skillmake.made import MADE, note_made, set_changed_aside

DATA, SKILLS = Path("runs/m/data/a.json"), Path("skills")
TEXTS = {"x/SKILL.md": "do", "y/SKILL.md": "dont"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a file and a folder, both as they were made."""
    note_made(DATA, "1", tmp_path)
    write_text(tmp_path / DATA, "1")
    note_made(SKILLS, TEXTS, tmp_path)
    for name, text in TEXTS.items():
        write_text(tmp_path / SKILLS / name, text)
    write_text(tmp_path / SKILLS / ".snakemake_timestamp", "")
    return tmp_path


def changed(root: Path, run: str = "m") -> list[tuple[str, str]]:
    return [(file.as_posix(), kept.as_posix()) for file, kept in set_changed_aside(run, root)]


def test_what_is_as_it_was_made_stays_and_what_is_not_there_is_not_missed(root: Path) -> None:
    assert changed(root) == []
    (root / DATA).unlink()
    assert changed(root) == []
    assert (root / "skills/x/SKILL.md").read_text() == "do"


@pytest.mark.parametrize("text", ["", "2", "1 "])
def test_a_changed_file_is_named_and_kept_elsewhere(root: Path, text: str) -> None:
    (root / DATA).write_text(text)
    kept = f".snakemake/skillmake/changed/{DATA}"
    assert changed(root) == [(DATA.as_posix(), kept)]
    assert not (root / DATA).exists()
    assert (root / kept).read_text() == text
    assert changed(root) == []


def test_a_folder_goes_whole_and_the_file_in_it_is_named(root: Path) -> None:
    for name, act in (
        ("y/SKILL.md", lambda path: path.write_text("more")),
        ("x/SKILL.md", lambda path: path.unlink()),
        ("z.md", lambda path: path.write_text("new")),
    ):
        act(root / SKILLS / name)
        assert changed(root) == [(f"skills/{name}", ".snakemake/skillmake/changed/skills")]
        assert not (root / SKILLS).exists()
        note_made(SKILLS, TEXTS, root)
        for path, text in TEXTS.items():
            write_text(root / SKILLS / path, text)


def test_a_note_that_is_damaged_vouches_for_nothing(root: Path) -> None:
    (root / MADE / f"{DATA}.json").write_text("{")
    assert [file for file, _ in changed(root)] == [DATA.as_posix()]


def test_other_runs_are_not_looked_at(root: Path) -> None:
    (root / DATA).write_text("2")
    assert changed(root, run="other") == []
    (root / "skills/x/SKILL.md").write_text("2")
    assert [file for file, _ in changed(root, run="other")] == ["skills/x/SKILL.md"]


def test_the_texts_of_a_seed_may_be_edited(root: Path) -> None:
    seed = Path("seeds/strong/skills")
    note_made(seed, TEXTS, root)
    write_text(root / seed / "x/SKILL.md", "mine")
    assert changed(root) == []
    assert (root / seed / "x/SKILL.md").read_text() == "mine"
