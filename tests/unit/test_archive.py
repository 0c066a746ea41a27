"""A run is put away whole, and explains itself there (SPEC §8, start states)."""

from pathlib import Path

import pytest

from skillmake.archive import archive
from skillmake.errors import DataError
from skillmake.runs import find_run
from skillmake.verify import verify
from skillmake.workspace import LOCK_FILE, TrainingLock
from tests.commands import run as command
from tests.small_run import SmallRun


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallRun:
    monkeypatch.chdir(tmp_path)
    made = SmallRun(tmp_path)
    made.deliver()
    return made


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_run_moves_whole_with_a_copy_of_what_was_delivered(run: SmallRun) -> None:
    before, skills, metrics = content(run.folder), content(Path("skills")), Path("metrics.json").read_bytes()
    place = archive("small")
    assert place == Path("runs/archive/small-1")
    assert not run.folder.exists()
    assert content(Path("skills")) == skills, "what is delivered stays until the next training"
    after = content(place)
    assert before.items() <= after.items()
    assert after["delivered/metrics.json"] == metrics
    assert {f"delivered/skills/{name}": data for name, data in skills.items()}.items() <= after.items()


def test_it_can_be_verified_and_read_there(run: SmallRun) -> None:
    before = verify(run.folder).checked
    place = archive("small")
    report = verify(place)
    assert report.mismatches == ()
    # What lies delivered is that of the next training
    assert report.checked[:-1] == before[:-1]
    assert (before[-1][0], report.checked[-1][0]) == (4, 0)
    path = place / "e01/s001/gate/alpha.json"
    path.write_text(path.read_text().replace('"wins": 9', '"wins": 8'))
    assert "runs/archive/small-1/e01/s001/gate/alpha.json" in [m.path for m in verify(place).mismatches]
    assert find_run("archive/small-1") == place
    assert "seed" in command("lineage", "best", "--run", "archive/small-1")


def test_numbers_count_up_and_the_results_of_another_run_are_not_copied(run: SmallRun) -> None:
    archive("small")
    SmallRun(run.root, "small")
    SmallRun(run.root, "other")
    assert command("archive", "small") == "small is now runs/archive/small-2\n"
    assert not Path("runs/archive/other-1").exists()
    assert archive("other") == Path("runs/archive/other-1")
    assert not Path("runs/archive/other-1/delivered").exists()


@pytest.mark.usefixtures("run")
def test_what_cannot_be_put_away_is_said() -> None:
    with pytest.raises(DataError, match="runs here: small"):
        archive("smal")
    lock = TrainingLock(LOCK_FILE)
    assert lock.acquire()
    with pytest.raises(DataError, match="a snakemake works in this directory"):
        archive("small")
    lock.release()
    archive("small")
    with pytest.raises(DataError, match="is in the archive already"):
        archive("archive/small-1")
    with pytest.raises(DataError, match="runs here: archive/small-1"):
        archive("small")
