"""Verify: whatever is changed in a run is named (DESIGN §2)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skillmake.artifacts import canonical, sha256, write_text
from skillmake.made import note_made
from skillmake.verify import verify
from tests.small_run import ALPHA, SEED, SmallRun


@pytest.fixture
def run(tmp_path: Path) -> SmallRun:
    made = SmallRun(tmp_path)
    made.deliver()
    return made


def wrong(run: SmallRun) -> list[str]:
    return [mismatch.path for mismatch in verify(run.folder).mismatches]


def changed(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change an artefact and write it as the library would."""
    value = json.loads(path.read_text())
    change(value)
    path.write_text(canonical(value))


def test_a_run_that_is_whole_has_no_mismatch_and_its_counts_are_right(run: SmallRun) -> None:
    report = verify(run.folder)
    assert report.mismatches == ()
    counts = {what.split(",")[0]: count for count, what in report.checked}
    files = [path for path in run.folder.rglob("*") if path.is_file() and "versions" not in path.parts]
    assert counts["artefacts"] == len(files)
    assert counts["version directories"] == len(list((run.folder / "versions").glob("*/*"))) == 6
    assert counts["version notes and their parents"] == 7
    assert counts["delivered files against the run"] == 4
    assert report.unvouched == ("runs/small/metrics.json",)


@pytest.mark.parametrize(
    "name",
    ["data/questions.jsonl", "data/texts.json", "e01/s001/gate/alpha.json", "e01/end/validation.json"],
)
def test_one_other_byte_in_an_artefact_is_found(run: SmallRun, name: str) -> None:
    path = run.folder / name
    data = bytearray(path.read_bytes())
    place = data.index(b"e")
    data[place : place + 1] = b"E"
    path.write_bytes(bytes(data))
    assert f"runs/small/{name}" in wrong(run)


def test_a_mismatch_tells_what_was_expected_and_who_says_so(run: SmallRun) -> None:
    changed(run.folder / "e01/s001/candidate/alpha.json", lambda value: value.update(budget=3))
    (mismatch,) = verify(run.folder).mismatches
    assert mismatch.path == "runs/small/e01/s001/candidate/alpha.json"
    assert mismatch.expected.startswith("sha256 ")
    assert mismatch.found.startswith("sha256 ")
    assert mismatch.found != mismatch.expected
    assert mismatch.because == "stamp of runs/small/e01/s001/gate/alpha.json"
    assert str(mismatch).startswith(f"{mismatch.path}: expected {mismatch.expected}, found {mismatch.found}")


def test_a_missing_artefact_is_found(run: SmallRun) -> None:
    (run.folder / "e01/end/validation.json").unlink()
    (mismatch,) = [m for m in verify(run.folder).mismatches if m.found == "no such file"]
    assert mismatch.path == "runs/small/e01/end/validation.json"


@pytest.mark.parametrize("text", ["{", "", "\udcff"])
def test_an_artefact_cut_short_is_found(run: SmallRun, text: str) -> None:
    (run.folder / "e01/end/state.json").write_bytes(text.encode(errors="surrogateescape"))
    assert "runs/small/e01/end/state.json" in wrong(run)


def test_an_artefact_that_nothing_vouches_for_is_still_read(run: SmallRun) -> None:
    path = run.folder / "metrics.json"
    path.write_text(path.read_text() + "\n")
    assert wrong(run) == ["runs/small/metrics.json"]


def test_an_artefact_without_stamp_is_found(run: SmallRun) -> None:
    run.write("e01/end/extra.json", SEED)
    changed(run.folder / "e01/end/extra.json", lambda value: value.pop("derived_from"))
    (mismatch,) = verify(run.folder).mismatches
    assert (mismatch.path, mismatch.expected) == ("runs/small/e01/end/extra.json", "a derived_from stamp")


# --- versions: each case is in a last artefact, for which no stamp vouches --------------
def last(run: SmallRun, value: object) -> Path:
    run.write("e01/end/zz.json", value)
    return run.folder / "e01/end/zz.json"


def test_a_version_that_is_not_its_digest_is_found(run: SmallRun) -> None:
    path = last(run, SEED)
    changed(path, lambda value: value["skills"]["files"].update({ALPHA: "other"}))  # type: ignore[index]
    (mismatch,) = verify(run.folder).mismatches
    assert mismatch.expected == f"version {SEED.skills.digest}"
    assert mismatch.because == "digest of its files"


def test_a_version_that_is_named_but_unknown_is_found(run: SmallRun) -> None:
    path = last(run, run.best)
    changed(path, lambda value: value["best"].update(skills="0123456789ab"))  # type: ignore[index]
    assert {(m.path, m.found) for m in verify(run.folder).mismatches} == {
        ("runs/small/e01/end/zz.json", "0123456789ab")
    }


def test_a_candidate_made_from_an_unknown_text_is_found(run: SmallRun) -> None:
    last(run, run.candidate("alpha", (), parent="f" * 64))
    (mismatch,) = verify(run.folder).mismatches
    assert (mismatch.found, mismatch.because) == ("f" * 64, "the candidate's parent")


def test_a_note_whose_parent_is_unknown_is_found(run: SmallRun) -> None:
    note = run.state.versions[-1].model_copy(update={"digest": "0" * 12, "parent": "1" * 12})
    last(run, run.state.model_copy(update={"versions": (*run.state.versions, note)}))
    (mismatch,) = verify(run.folder).mismatches
    assert (mismatch.path, mismatch.found) == ("the note of skills version 000000000000", "1" * 12)


def test_a_spoilt_object_is_named_without_traceback(run: SmallRun) -> None:
    path = last(run, SEED)
    changed(path, lambda value: value["skills"].update(files=3))  # type: ignore[attr-defined]
    assert set(wrong(run)) == {"runs/small/e01/end/zz.json"}


# --- version directories and what is delivered -------------------------------------------
def test_a_changed_file_of_a_version_is_named(run: SmallRun) -> None:
    directory = f"versions/skills/{run.texts.skills.digest}"
    (run.folder / directory / ALPHA).write_text("other")
    (mismatch,) = verify(run.folder).mismatches
    assert mismatch.path == f"runs/small/{directory}/{ALPHA}"
    assert mismatch.expected == f"digest {run.texts.skills.digest}"


def test_a_file_too_many_or_too_few_in_a_version_is_named(run: SmallRun) -> None:
    directory = run.folder / "versions/skills" / run.texts.skills.digest
    (directory / "more.md").write_text("x")
    assert wrong(run) == [f"runs/small/versions/skills/{directory.name}/more.md"]
    (directory / "more.md").unlink()
    (directory / ALPHA).unlink()
    assert wrong(run) == [f"runs/small/versions/skills/{directory.name}/{ALPHA}"]


def test_a_lost_version_and_a_wrong_note_are_named(run: SmallRun) -> None:
    shutil.rmtree(run.folder / "versions/prompts")
    note = run.folder / "versions/skills" / SEED.skills.digest / "version.json"
    note.write_text(note.read_text().replace(SEED.skills.digest, "0" * 12))
    assert wrong(run) == [
        f"runs/small/versions/prompts/{SEED.prompts.digest}",
        f"runs/small/versions/skills/{SEED.skills.digest}/version.json",
    ]


def test_what_is_delivered_is_the_best_version(run: SmallRun) -> None:
    (run.root / "skills" / ALPHA).write_text("by hand")
    (run.root / "prompts-delivered" / "system.md").unlink()
    assert wrong(run) == ["prompts-delivered/system.md", f"skills/{ALPHA}"]
    changed(run.root / "metrics.json", lambda value: value.update(steps=3))
    assert wrong(run) == ["metrics.json", "prompts-delivered/system.md", f"skills/{ALPHA}"]


def test_what_another_run_delivered_is_not_this_runs_business(run: SmallRun) -> None:
    other = SmallRun(run.root, "other")
    (run.root / "skills" / ALPHA).write_text("by hand")
    assert wrong(other) == []


def test_what_a_target_made_from_files_that_have_changed_is_outdated_and_no_mismatch(run: SmallRun) -> None:
    texts = "runs/small/e01/end/texts.json"
    now = sha256((run.root / texts).read_bytes())
    for target, then in (("eval/best", sha256("before it was trained again")), ("infer/new", now)):
        stamped = {**SEED.model_dump(mode="json"), "derived_from": {texts: then}, "made_by": {}}
        write_text(run.folder / f"modes/{target}/version.json", canonical(stamped))
    report = verify(run.folder)
    assert (report.mismatches, report.outdated) == ((), ("runs/small/modes/eval/best",))


def test_one_other_byte_in_what_a_target_made_is_a_mismatch(run: SmallRun) -> None:
    run.write("modes/eval/best/rollout.json", SEED)
    run.write("modes/eval/best/report.json", SEED)
    path = run.folder / "modes/eval/best/rollout.json"
    path.write_text(path.read_text().replace("Say", "Sing"))
    assert "runs/small/modes/eval/best/rollout.json" in wrong(run)


def test_for_what_nothing_was_made_from_the_note_of_its_making_vouches(run: SmallRun) -> None:
    name = Path("runs/small/metrics.json")
    note_made(name, (run.root / name).read_text(), run.root)
    report = verify(run.folder)
    assert (report.mismatches, report.unvouched) == ((), ())
    assert (1, "other artefacts against the note of when they were made") in report.checked
    changed(run.root / name, lambda value: value.update(steps=3))
    assert ("runs/small/metrics.json", "noted when it was made") in [
        (mismatch.path, mismatch.because) for mismatch in verify(run.folder).mismatches
    ]
    away = run.folder.parent / "archive/small-1"
    away.parent.mkdir()
    run.folder.rename(away)
    assert verify(away).unvouched == ("runs/archive/small-1/metrics.json",)
