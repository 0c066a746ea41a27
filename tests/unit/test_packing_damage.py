"""The packed run: what a start does with one that is damaged."""

from pathlib import Path

import pytest

from skillmake.errors import DataError
from skillmake.files import write_text
from skillmake.made import note_made
from skillmake.packing import PACK, pack, unpack_if_other


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a run that is packed."""
    note_made(Path("runs/m/a.json"), "1", tmp_path)
    write_text(tmp_path / "runs/m/a.json", "1")
    pack("m", ["runs/m/a.json"], tmp_path)
    return tmp_path


def test_a_pack_that_was_damaged_beside_its_run_is_told_and_set_aside(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert unpack_if_other(root) is None
    whole = (root / PACK).read_bytes()
    (root / PACK).write_bytes(whole[: len(whole) // 2])
    assert unpack_if_other(root) is None
    kept = f".snakemake/skillmake/changed/{PACK}"
    assert capsys.readouterr().out == f"{PACK}: changed since it was made; kept in {kept}, made again\n"
    assert (root / kept).read_bytes() == whole[: len(whole) // 2]
    assert not (root / PACK).exists()
    assert (root / "runs/m/a.json").read_text() == "1"


def test_a_damaged_pack_without_its_run_stops(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    clone = tmp_path_factory.mktemp("clone")
    (clone / PACK).write_bytes((root / PACK).read_bytes())
    assert unpack_if_other(clone) == "m"
    assert (clone / "runs/m/a.json").read_text() == "1"
    other = tmp_path_factory.mktemp("other")
    (other / PACK).write_bytes((root / PACK).read_bytes()[:-40])
    with pytest.raises(DataError, match="not a packed run"):
        unpack_if_other(other)
