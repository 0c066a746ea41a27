"""A run as one file, so that a clone that has it finds nothing to do (DESIGN §4.8).

It holds what the rules made in runs/<run>/ and what Snakemake knows of every output: from what it was made.
Equal runs have equal bytes. DVC keeps that one file; runs/ itself it would put back before each experiment,
and with it what an interrupted run has already made.
"""

import gzip
import io
import json
import shutil
import tarfile
import zlib
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path

from skillmake.errors import DataError, notice, storing
from skillmake.files import canonical_line, sha256, write_text
from skillmake.made import KEPT, MADE
from skillmake.workspace import MODES, STRUCTURE, recorded_path

PACK = "run.tar.gz"
RECORDS, PACKED = ".snakemake/metadata", ".snakemake/skillmake.packed"
# What decides whether a job must run; the rest tells of times, processes, logs and endpoints.
DECIDES = (
    "rule",
    "code",
    "params",
    "input",
    "input_checksums",
    "software_stack_hash",
    "record_format_version",
)
# Older than any input, so that Snakemake compares each input by its content.
MODIFIED = 946_684_800


def pack(run: str, outputs: Collection[str], root: Path = Path()) -> None:
    """Write the pack of a finished run; `outputs`: all that its rules make, also those beside runs/."""
    target = root / PACK
    part = target.with_name(f".{PACK}")
    with (
        storing(target),
        part.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        members = _artefacts(run, outputs, root), _notes(outputs, root), _records(outputs, root)
        for name, content in chain(*members):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), MODIFIED
            archive.addfile(member, io.BytesIO(content))
    digest = sha256(part.read_bytes())
    part.replace(target)
    write_text(root / PACKED, digest)


def unpack_if_other(root: Path = Path()) -> str | None:
    """Put the run of the pack in place of the one here, if this folder has not packed or unpacked it last.

    Returns the name of the run if it did. What a killed start has left half unpacked is unpacked again.
    A file that is no pack is set aside where this folder has its run, else it raises DataError.
    """
    source, packed = root / PACK, root / PACKED
    if not source.exists():
        return None
    digest = sha256(source.read_bytes())
    if packed.exists() and packed.read_text() == digest:
        return None
    is_ours = packed.exists()
    packed.unlink(missing_ok=True)
    try:
        run = _unpack(source, root)
    except DataError:
        if not is_ours:
            raise
        kept = root / KEPT / PACK
        kept.parent.mkdir(parents=True, exist_ok=True)
        source.replace(kept)
        notice(f"{PACK}: changed since it was made; kept in {KEPT / PACK}, made again")
        return None
    write_text(packed, digest)
    return run


def _unpack(source: Path, root: Path) -> str:
    try:
        _check_whole(source)
        with tarfile.open(source, "r:gz") as archive:
            members = archive.getmembers()
            (run,) = {Path(m.name).parts[1] for m in members if m.name.startswith("runs/")}
            places = f"runs/{run}/", f"{MADE}/", f"{RECORDS}/"
            if not all(m.isfile() and m.name.startswith(places) and ".." not in m.name for m in members):
                raise ValueError("foreign files")
            _clear(root / "runs" / run)
            archive.extractall(root, members, filter="data")
    except (tarfile.TarError, zlib.error, EOFError, ValueError, gzip.BadGzipFile):
        raise DataError(f"{PACK}: this is not a packed run", f"`dvc checkout {PACK}`, or delete it") from None
    # Without it Snakemake takes its folder for one of an old version
    (root / ".snakemake/incomplete").mkdir(exist_ok=True)
    return run


def _check_whole(source: Path) -> None:
    """Read to the end, where the checksum is; an archive alone does not notice that its end is missing."""
    with gzip.open(source) as data:
        while data.read(2**20):
            pass


def _clear(folder: Path) -> None:
    """Remove a run but its logs and what targets beside training made of it, which are in no pack."""
    for path in folder.iterdir() if folder.exists() else ():
        if path.is_file():
            path.unlink()
        elif path.name not in ("log", MODES):
            shutil.rmtree(path)


def _artefacts(run: str, outputs: Collection[str], root: Path) -> Iterator[tuple[str, bytes]]:
    files = sorted({*outputs, f"runs/{run}/{STRUCTURE}"})
    inside = [root / output for output in files if output.startswith(f"runs/{run}/")]
    for output in inside:
        for path in [output] if output.is_file() else sorted(output.rglob("*")):
            if path.is_file():
                yield path.relative_to(root).as_posix(), path.read_bytes()


def _notes(outputs: Collection[str], root: Path) -> Iterator[tuple[str, bytes]]:
    """What each output was when it was made."""
    for output in sorted(outputs):
        note = MADE / f"{output}.json"
        yield note.as_posix(), (root / note).read_bytes()


def _records(outputs: Collection[str], root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(path for path in (root / RECORDS).rglob("*") if path.is_file()):
        if recorded_path(path, root / RECORDS) in outputs:
            record = json.loads(path.read_bytes())
            kept = canonical_line({key: record[key] for key in DECIDES})
            yield path.relative_to(root).as_posix(), kept.encode()
