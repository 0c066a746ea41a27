"""Versions of the trained texts, the seed, and own skill files (SPEC §2)."""

import json
from pathlib import Path

import pytest

from skillmake.errors import DataError
from skillmake.state import Best, State, VersionNote
from skillmake.texts import Texts, Version, is_default, own_skills, read_seed, skill_path
from skillmake.versions import version_files

DEFAULT = "default-strategy/SKILL.md"


def skill(name: str, body: str = "Think.") -> str:
    return f"---\nname: {name}\ndescription: What to do.\n---\n\n{body}\n"


def texts(**skills: str) -> Texts:
    """Names with `_` for `-`."""
    files = {f"{name.replace('_', '-')}/SKILL.md": text for name, text in skills.items()}
    return Texts(
        skills=Version.of(files, None, "seed"), prompts=Version.of({"system.md": "Answer."}, None, "seed")
    )


def seed_folder(root: Path, **skills: str | bytes) -> Path:
    """skills/<name>/SKILL.md and prompts/system.md under root."""
    for name, text in skills.items():
        path = root / "skills" / name.replace("_", "-") / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (root / "prompts").mkdir()
    (root / "prompts" / "system.md").write_text("Answer.\n")
    return root


def test_same_content_same_digest_wherever_it_comes_from() -> None:
    one = Version.of({"a": "1", "b": "2"}, None, "seed")
    other = Version.of({"b": "2", "a": "1"}, "parent", "step 3: alpha")
    assert one.digest == other.digest
    assert len(one.digest) == 12


@pytest.mark.parametrize(
    "files", [{"a": "1", "b": "3"}, {"a": "1"}, {"a": "1", "c": "2"}, {"a": "2", "b": "1"}]
)
def test_other_content_other_digest(files: dict[str, str]) -> None:
    assert Version.of(files, None, "seed").digest != Version.of({"a": "1", "b": "2"}, None, "seed").digest


def test_a_change_is_a_new_version_and_leaves_the_old_one_alone() -> None:
    old = Version.of({"a": "1", "b": "2"}, None, "seed")
    new = old.changed("a", "one", "step 1")
    assert (new.parent, new.source, new.files) == (old.digest, "step 1", {"a": "one", "b": "2"})
    assert old.files == {"a": "1", "b": "2"}
    assert new.changed("a", "1", "back").digest == old.digest


def test_no_change_is_no_new_version() -> None:
    old = Version.of({"a": "1"}, None, "seed")
    assert old.changed("a", "1", "step 1") is old


def test_a_skill_is_that_of_the_type_by_slug_else_the_shared_one() -> None:
    have = texts(parcel_desk="own", default_strategy="shared")
    assert (have.skill("Parcel Desk"), have.skill("boat yard")) == ("own", "shared")
    assert have.skill_path("Parcel Desk") == "parcel-desk/SKILL.md"
    assert have.skill_path("boat yard") == DEFAULT
    assert [is_default(path) for path in (DEFAULT, "parcel-desk/SKILL.md")] == [True, False]
    assert have.system == "Answer."


def test_neither_own_nor_shared_skill_is_an_error_that_names_both() -> None:
    with pytest.raises(DataError, match="no skill file for task type 'Boat Yard'") as error:
        skill_path({"parcel-desk/SKILL.md": "own"}, "Boat Yard")
    assert "boat-yard/SKILL.md" in error.value.hint
    assert DEFAULT in error.value.hint


def test_each_type_without_a_file_gets_its_own_copy_of_the_shared_one() -> None:
    seed = texts(alpha=skill("alpha", "Own."), default_strategy=skill("default-strategy", "Shared."))
    own = own_skills(seed, ["alpha", "Boat Yard"])
    assert own.skills.files == {**seed.skills.files, "boat-yard/SKILL.md": skill("boat-yard", "Shared.")}
    assert (own.skills.parent, own.skills.source) == (None, "seed")
    assert own.prompts == seed.prompts


def test_only_the_name_is_exchanged_in_a_copy() -> None:
    body = "Do not write name: default-strategy."
    own = own_skills(texts(default_strategy=skill("default-strategy", body)), ["alpha"])
    assert own.skill("alpha") == skill("alpha", body)


def test_without_a_shared_skill_there_is_nothing_to_copy() -> None:
    seed = texts(alpha=skill("alpha"))
    assert own_skills(seed, ["alpha", "beta"]) == seed


def test_the_seed_is_read_by_path_and_nothing_beside_it(tmp_path: Path) -> None:
    root = seed_folder(tmp_path, alpha=skill("alpha"), default_strategy=skill("default-strategy"))
    (root / "skills" / "README.md").write_text("not a skill")
    (root / "skills" / "alpha" / "notes.md").write_text("not a skill")
    seed = read_seed(root / "skills", root / "prompts")
    assert seed.skills.files == {"alpha/SKILL.md": skill("alpha"), DEFAULT: skill("default-strategy")}
    assert seed.prompts.files == {"system.md": "Answer.\n"}
    assert (seed.skills.parent, seed.skills.source, seed.prompts.source) == (None, "seed", "seed")


def test_a_folder_without_skills_is_an_error_that_names_it(tmp_path: Path) -> None:
    root = seed_folder(tmp_path)
    with pytest.raises(DataError, match=r"skills: no <slug>/SKILL\.md in it") as error:
        read_seed(root / "skills", root / "prompts")
    assert "data.skills" in error.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Think.\n", r"alpha/SKILL\.md: no front matter"),
        (skill("Alpha!"), r"alpha/SKILL\.md: name 'Alpha!'"),
        ("---\nname: alpha\n---\nThink.\n", r"alpha/SKILL\.md: description"),
        (b"---\nname: alpha\ndescription: caf\xe9\n---\n", r"alpha/SKILL\.md: not UTF-8"),
    ],
)
def test_an_unusable_skill_file_is_named(tmp_path: Path, text: str | bytes, message: str) -> None:
    root = seed_folder(tmp_path, alpha=text, beta=skill("beta"))
    with pytest.raises(DataError, match=message):
        read_seed(root / "skills", root / "prompts")


def test_a_missing_system_prompt_is_named(tmp_path: Path) -> None:
    root = seed_folder(tmp_path, alpha=skill("alpha"))
    (root / "prompts" / "system.md").unlink()
    with pytest.raises(DataError, match=r"prompts/system\.md: no such file"):
        read_seed(root / "skills", root / "prompts")


def note(version: Version, step: int, kind: str = "skills") -> VersionNote:
    return VersionNote(
        digest=version.digest,
        parent=version.parent,
        kind=kind,
        source=version.source,
        epoch=1,
        step=step,
        description="",
    )


def state(*notes: VersionNote) -> State:
    best = Best(skills="s", prompts="p", accuracy=0.5, epoch=0)
    return State(epoch=0, step=0, total_steps=1, correctness={}, best=best, versions=notes)


def test_versions_are_folders_by_digest_with_their_first_note() -> None:
    """A rollback to the seed's content is the seed's version again: its first note is kept."""
    seed = texts(alpha="one")
    later = seed.with_skill("alpha/SKILL.md", "two", "step 1: alpha")
    back = later.with_skill("alpha/SKILL.md", "one", "rollback")
    notes = [note(seed.skills, 0), note(later.skills, 1), note(back.skills, 2)]
    found = version_files([seed, later, back], state(*notes))
    first, second, prompts = seed.skills.digest, later.skills.digest, seed.prompts.digest
    assert set(found) == {
        f"skills/{first}/alpha/SKILL.md",
        f"skills/{first}/version.json",
        f"skills/{second}/alpha/SKILL.md",
        f"skills/{second}/version.json",
        f"prompts/{prompts}/system.md",
    }
    assert found[f"skills/{second}/alpha/SKILL.md"] == "two"
    assert json.loads(found[f"skills/{first}/version.json"])["step"] == 0
    assert json.loads(found[f"skills/{second}/version.json"])["parent"] == first


def test_a_copy_of_the_default_is_renamed_however_its_name_is_written() -> None:
    head = '---\ndescription: "name: default-strategy"\nname: "default-strategy"\n---\n'
    text = head + "\nname: default-strategy\n"
    seed = Texts(
        skills=Version.of({"default-strategy/SKILL.md": text}, None, "seed"),
        prompts=Version.of({"system.md": ""}, None, "seed"),
    )
    copy = own_skills(seed, ["alpha"]).skills.files["alpha/SKILL.md"]
    assert copy == text.replace('name: "default-strategy"', "name: alpha")
