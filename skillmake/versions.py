"""Versions as directories named by their digest (DESIGN §2)."""

from collections.abc import Iterable

from skillmake.artifacts import canonical
from skillmake.state import State, VersionNote
from skillmake.texts import Texts, Version


def version_files(texts: Iterable[Texts], state: State) -> dict[str, str]:
    """`<kind>/<digest>/…` of every version there was, with `version.json` beside its files."""
    notes = {(note.kind, note.digest): note for note in reversed(state.versions)}
    out: dict[str, str] = {}
    for each in texts:
        for kind, version in (("skills", each.skills), ("prompts", each.prompts)):
            _add(out, kind, version, notes.get((kind, version.digest)))
    return out


def _add(out: dict[str, str], kind: str, version: Version, note: VersionNote | None) -> None:
    root = f"{kind}/{version.digest}"
    if note is not None:
        out[f"{root}/version.json"] = canonical(note)
    for path, text in version.files.items():
        out[f"{root}/{path}"] = text
