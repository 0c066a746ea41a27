"""A run as one file: what is in it, and when it takes the place of the run that is there."""

import base64
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from skillmake.errors import DataError
from skillmake.files import sha256
from skillmake.made import MADE, note_made, set_changed_aside
from skillmake.packing import PACK, PACKED, RECORDS, pack, unpack_if_other

STATE, VERSIONS, DELIVERED = "runs/main/e01/state.json", "runs/main/versions", "metrics.json"
OUTPUTS = {STATE, VERSIONS, DELIVERED}
RECORD = {
    "rule": "settle",
    "code": "c",
    "params": ["'p'"],
    "input": ["a"],
    "input_checksums": {"a": "sha256:0"},
    "software_stack_hash": "d",
    "record_format_version": 6,
    # Of this one process and place: not packed
    "shellcmd": "job --base-url http://here",
    "log": ["l"],
    "starttime": 1.5,
    "endtime": 2.5,
    "job_hash": 77,
}


def record_of(root: Path, output: str) -> Path:
    return root / RECORDS / base64.urlsafe_b64encode(output.encode()).decode()


def made(root: Path, content: str = "one") -> Path:
    """A finished run with what Snakemake and the jobs note of it, and files that are not its results."""
    for output, files in ((STATE, content), (VERSIONS, {"skills/a.md": content}), (DELIVERED, content)):
        for name, text in {"": files}.items() if isinstance(files, str) else files.items():
            write(root / output / name, text)
        note_made(Path(output), files, root)
        write(record_of(root, output), json.dumps(RECORD))
    write(root / "runs/main/log/a.log", "seconds")
    write(root / "runs/other/state.json", "other")
    write(record_of(root, "runs/other/state.json"), json.dumps(RECORD))
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def files(root: Path) -> dict[str, str]:
    found = (path for path in root.rglob("*") if path.is_file() and path.name != PACK)
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


def test_a_pack_brings_the_run_and_what_decides_whether_it_is_up_to_date(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one"), tmp_path / "two"
    pack("main", OUTPUTS, one)
    two.mkdir()
    (one / PACK).rename(two / PACK)
    assert unpack_if_other(two) == "main"
    assert set(files(two)) == {
        STATE,
        f"{VERSIONS}/skills/a.md",
        PACKED,
        *(f"{MADE}/{output}.json" for output in OUTPUTS),
        *(record_of(Path(), output).as_posix() for output in OUTPUTS),
    }
    record = json.loads(record_of(two, STATE).read_text())
    assert record == {key: RECORD[key] for key in record}
    assert set(RECORD) - set(record) == {"shellcmd", "log", "starttime", "endtime", "job_hash"}
    # Any input of its own is newer, so that it is compared by content
    assert (two / STATE).stat().st_mtime < 1e9
    write(two / DELIVERED, "one")
    assert list(set_changed_aside("main", two)) == []
    assert unpack_if_other(two) is None


def test_equal_runs_have_equal_packs(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    write(record_of(two, STATE), json.dumps({**RECORD, "job_hash": -1, "endtime": 9.5}))
    write(two / "runs/main/log/a.log", "other seconds")
    for root in (one, two):
        pack("main", OUTPUTS, root)
    assert (one / PACK).read_bytes() == (two / PACK).read_bytes()
    assert not list(one.glob(f".{PACK}*"))


def test_only_another_pack_takes_the_place_of_a_run(tmp_path: Path) -> None:
    root = made(tmp_path / "work")
    assert unpack_if_other(root) is None
    pack("main", OUTPUTS, root)
    old = (root / PACK).read_bytes()
    # An interrupted run goes on where it was, though the pack is that of the last finished one
    write(root / STATE, "half")
    assert unpack_if_other(root) is None
    made(root, "two")
    write(root / "runs/main/e02/plan.json", "two")
    pack("main", {*OUTPUTS - {STATE}}, root)
    (root / PACK).write_bytes(old)
    assert unpack_if_other(root) == "main"
    assert (root / STATE).read_text() == "one"
    assert not (root / "runs/main/e02").exists()
    assert (root / "runs/main/log/a.log").exists()
    assert (root / "runs/other/state.json").exists()


def test_what_was_half_unpacked_is_unpacked_again(tmp_path: Path) -> None:
    root = made(tmp_path)
    pack("main", OUTPUTS, root)
    (root / PACKED).unlink()  # as after a kill in the middle
    (root / STATE).unlink()
    assert unpack_if_other(root) == "main"
    assert (root / STATE).read_text() == "one"
    assert (root / PACKED).read_text() == sha256((root / PACK).read_bytes())


def archive(members: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            made.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


GOOD = {"runs/main/a.json": "x"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"text",
        archive(GOOD)[:-12],
        archive({}),
        archive({**GOOD, "skillmake/job.py": "x"}),
        archive({**GOOD, "runs/main/../../skillmake/job.py": "x"}),
        archive({**GOOD, "runs/other/a.json": "x"}),
    ],
    ids=["empty", "no_archive", "cut", "nothing", "foreign", "climbing", "two_runs"],
)
def test_a_file_that_is_no_pack_is_refused_and_changes_nothing(tmp_path: Path, data: bytes) -> None:
    root = made(tmp_path)
    (root / PACK).write_bytes(data)
    before = files(root)
    for _ in range(2):
        with pytest.raises(DataError, match=r"run.tar.gz: this is not a packed run"):
            unpack_if_other(root)
    assert files(root) == before


# --- a pack that is damaged beside its run, or without it -----------------------------
@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A folder with a run that is packed."""
    note_made(Path("runs/m/a.json"), "1", tmp_path)
    write(tmp_path / "runs/m/a.json", "1")
    pack("m", ["runs/m/a.json"], tmp_path)
    return tmp_path


def test_a_pack_that_was_damaged_beside_its_run_is_told_and_set_aside(
    packed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert unpack_if_other(packed) is None
    whole = (packed / PACK).read_bytes()
    (packed / PACK).write_bytes(whole[: len(whole) // 2])
    assert unpack_if_other(packed) is None
    kept = f".snakemake/skillmake/changed/{PACK}"
    assert capsys.readouterr().out == f"{PACK}: changed since it was made; kept in {kept}, made again\n"
    assert (packed / kept).read_bytes() == whole[: len(whole) // 2]
    assert not (packed / PACK).exists()
    assert (packed / "runs/m/a.json").read_text() == "1"


def test_a_damaged_pack_without_its_run_stops(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    clone = tmp_path_factory.mktemp("clone")
    (clone / PACK).write_bytes((packed / PACK).read_bytes())
    assert unpack_if_other(clone) == "m"
    assert (clone / "runs/m/a.json").read_text() == "1"
    other = tmp_path_factory.mktemp("other")
    (other / PACK).write_bytes((packed / PACK).read_bytes()[:-40])
    with pytest.raises(DataError, match="not a packed run"):
        unpack_if_other(other)
