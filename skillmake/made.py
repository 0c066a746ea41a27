"""What the rules have made, output by output, so that a start finds what was changed since (DESIGN §2).

For each output there is a note with its digests, outside of everything that is hashed. Snakemake sees a
changed file by its date only, and never that it is not what its rule made.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from skillmake.files import canonical, sha256, write_text

MADE, KEPT = Path(".snakemake/skillmake/made"), Path(".snakemake/skillmake/changed")
TIMESTAMP = ".snakemake_timestamp"  # Snakemake's own, in a directory that is an output


def note_made(output: Path, content: str | Mapping[str, str], root: Path = Path()) -> None:
    """Note what `output` will be: a text, or a folder of texts by relative path."""
    texts = {"": content} if isinstance(content, str) else content
    note = root / MADE / f"{output.as_posix()}.json"
    write_text(note, canonical({name: sha256(text) for name, text in texts.items()}))


def set_changed_aside(run: str, root: Path = Path()) -> Iterator[tuple[Path, Path]]:
    """Move what is not as it was made out of the way, so that it is made again: outputs of a run, and those
    beside the runs. Gives (file that was changed, where its output is kept now)."""
    for note in sorted((root / MADE).rglob("*.json")):
        output = note.relative_to(root / MADE).with_suffix("")
        # A seed is a source as soon as it is promoted: its texts are the user's to edit
        if output.parts[0] == "seeds" or (output.parts[0] == "runs" and output.parts[1] != run):
            continue
        there = root / output
        changed = _difference(_noted(note), _digests(there)) if there.exists() else None
        if changed is not None:
            kept = root / KEPT / output
            shutil.rmtree(kept) if kept.is_dir() else kept.unlink(missing_ok=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            there.rename(kept)
            note.unlink()
            yield output / changed, kept.relative_to(root)


def digest_when_made(output: Path, root: Path = Path()) -> str | None:
    """sha256 of an output that is a file, as it was noted when it was made; None where nothing was noted."""
    note = root / MADE / f"{output.as_posix()}.json"
    return _noted(note).get("") if note.is_file() else None


def _noted(note: Path) -> dict[str, str]:
    """What a note says; a damaged one vouches for nothing."""
    try:
        value: dict[str, str] = json.loads(note.read_bytes())
        return dict(value)
    except (ValueError, TypeError):
        return {}


def _difference(noted: Mapping[str, str], found: Mapping[str, str]) -> str | None:
    """The first path whose digests differ."""
    return next((path for path in sorted({*noted, *found}) if noted.get(path) != found.get(path)), None)


def _digests(output: Path) -> dict[str, str]:
    """Digest by relative path of the files of an output; of an output that is a file, the one of ""."""
    if output.is_file():
        return {"": sha256(output.read_bytes())}
    files = [path for path in output.rglob("*") if path.is_file() and path.name != TIMESTAMP]
    return {path.relative_to(output).as_posix(): sha256(path.read_bytes()) for path in files}
