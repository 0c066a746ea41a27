"""Verify a run: every digest that its artefacts carry against the content it stands for (DESIGN §2).

Files are checked against the `derived_from` stamps of what was made from them, versions against the digests
that name them. The last artefacts of a run, from which nothing is made, have no stamp that vouches for them:
they are checked against the notes of `skillmake.made`, as far as these are there.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from skillmake.artifacts import STAMP_KEYS, Model, canonical, digest, read_json, sha256
from skillmake.candidate import Candidate
from skillmake.history import KINDS
from skillmake.made import digest_when_made
from skillmake.rollout import Rollout
from skillmake.runs import (
    DELIVERED,
    METRICS,
    artefact_files,
    home,
    is_delivered,
    is_kind,
    mode_files,
    objects,
)
from skillmake.slow import BestReport, Validation
from skillmake.state import Best, VersionNote
from skillmake.texts import Texts, Version
from skillmake.workspace import MODES


@dataclass(frozen=True)
class Mismatch:
    """`path`, relative to the project, is not what `expected` says; `because`: who says so."""

    path: str
    expected: str
    found: str
    because: str

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected}, found {self.found} ({self.because})"


@dataclass(frozen=True)
class Report:
    """What was checked, as counts with what they count, and every mismatch, in order of path.

    `unvouched`: artefacts whose bytes no digest stands for. `outdated`: folders of what infer, eval and
    diagnose made from files that have changed since.
    """

    checked: tuple[tuple[int, str], ...]
    unvouched: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    outdated: tuple[str, ...] = ()


@dataclass
class _Facts:
    """What the artefacts say, from one pass over them."""

    made_as: str  # path of the run when its stamps were written, and now
    run: str
    artefacts: list[str] = field(default_factory=list)
    stamps: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    versions: dict[tuple[str, str], Version] = field(default_factory=dict)
    kept: dict[tuple[str, str], str] = field(default_factory=dict)
    named: dict[tuple[str, str], str] = field(default_factory=dict)
    parents: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: dict[tuple[str, str], str | None] = field(default_factory=dict)
    bests: dict[str, dict[str, str]] = field(default_factory=dict)
    outdated: set[str] = field(default_factory=set)
    texts: int = 0
    wrong: list[Mismatch] = field(default_factory=list)


def verify(run_dir: Path) -> Report:
    """Check the run in `run_dir`, which lies in `runs/` of its project; reads only."""
    folder = run_dir.resolve()
    root, made_as = home(folder)
    run = folder.relative_to(root).as_posix()
    facts = _Facts(made_as, run)
    for path in [*artefact_files(folder), *mode_files(folder)]:
        _read(facts, path.relative_to(root).as_posix(), path)
    delivered = _delivered(facts, root, run) if is_delivered(folder.name, root) else {}
    directories = [path for kind in KINDS for path in sorted((folder / "versions" / kind).glob("*/"))]
    named_files = {name for name, _ in facts.stamps}
    noted = _noted(facts, [name for name in facts.artefacts if name not in named_files], root)
    found = [
        *facts.wrong,
        *_changed_since_made(noted, root),
        *_stamps(facts, root),
        *_directories(facts, directories, folder / "versions", root),
        *_names(facts),
        *_changed_since_delivery(delivered, root),
    ]
    checked = (
        (len(facts.artefacts), "artefacts, each in canonical form"),
        (sum(map(len, facts.stamps.values())), f"stamps for {len(named_files)} files"),
        (len(noted), "other artefacts against the note of when they were made"),
        (facts.texts, "versions in artefacts against their content"),
        (len(directories), "version directories"),
        (len(facts.named), "versions that artefacts name"),
        (len(facts.parents), "skill texts that candidates were made from"),
        (len(facts.notes), "version notes and their parents"),
        (len(delivered), "delivered files against the run"),
    )
    unvouched = tuple(name for name in facts.artefacts if name not in named_files | noted.keys())
    mismatches = tuple(sorted(set(found), key=lambda m: (m.path, m.expected)))
    return Report(checked, unvouched, mismatches, tuple(sorted(facts.outdated)))


def _read(facts: _Facts, name: str, path: Path) -> None:
    """Check one artefact by itself and note what it says of others."""
    facts.artefacts.append(name)
    if path.suffix != ".json":
        return
    try:
        text = path.read_bytes().decode()
        value = json.loads(text)
        canonical_text = canonical(value)
    except ValueError as error:
        facts.wrong.append(Mismatch(name, "a JSON artefact", str(error), "its name"))
        return
    if text != canonical_text:
        facts.wrong.append(Mismatch(name, "canonical JSON", "other bytes", "artefacts are written so"))
    if isinstance(value, dict):
        _note_stamps(facts, name, value)
        for each in objects(value):
            _note(facts, name, each)


def _note_stamps(facts: _Facts, name: str, value: dict[str, Any]) -> None:
    sources = value.get("derived_from")
    if not isinstance(sources, dict):
        facts.wrong.append(Mismatch(name, "a derived_from stamp", "none", "each JSON artefact has one"))
        return
    for source, expected in sources.items():
        if source.startswith(f"{facts.made_as}/"):
            source = facts.run + source.removeprefix(facts.made_as)
        facts.stamps[source, str(expected)].append(name)


def _note(facts: _Facts, name: str, each: dict[str, Any]) -> None:
    if is_kind(each, Version) and (version := _valid(facts, name, Version, each)):
        facts.texts += 1
        if (content := digest(version.files)) != version.digest:
            facts.wrong.append(Mismatch(name, f"version {version.digest}", content, "digest of its files"))
    elif is_kind(each, Texts) and (texts := _valid(facts, name, Texts, each)):
        for kind, version in (("skills", texts.skills), ("prompts", texts.prompts)):
            facts.versions[kind, version.digest] = version
            if name.endswith("/texts.json"):
                facts.kept.setdefault((kind, version.digest), name)
    elif is_kind(each, VersionNote) and (note := _valid(facts, name, VersionNote, each)):
        facts.notes.setdefault((note.kind, note.digest), note.parent)
    elif is_kind(each, Candidate) and (candidate := _valid(facts, name, Candidate, each)):
        facts.parents.setdefault((candidate.path, candidate.parent), name)
    elif is_kind(each, BestReport) and (report := _valid(facts, name, BestReport, each)):
        facts.bests[name] = {"skills": report.best.skills, "prompts": report.best.prompts}
    elif any(is_kind(each, model) for model in (Rollout, Validation, Best)):
        for kind in KINDS:
            facts.named.setdefault((kind, str(each[kind])), name)


def _valid(facts: _Facts, name: str, model: type[Model], each: dict[str, Any]) -> Model | None:
    try:
        return model.model_validate({key: value for key, value in each.items() if key not in STAMP_KEYS})
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
        facts.wrong.append(Mismatch(name, f"a {model.__name__}", problem, "its fields"))
        return None


def _stamps(facts: _Facts, root: Path) -> Iterator[Mismatch]:
    content: dict[str, str] = {}
    for (name, expected), holders in facts.stamps.items():
        if name not in content:
            path = root / name
            content[name] = f"sha256 {sha256(path.read_bytes())}" if path.is_file() else "no such file"
        if content[name] == f"sha256 {expected}":
            continue
        if _of_modes(facts, holders) and not _of_modes(facts, [name]):
            facts.outdated |= {holder.rpartition("/")[0] for holder in holders}
        else:
            more = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
            yield Mismatch(name, f"sha256 {expected}", content[name], f"stamp of {holders[0]}{more}")


def _noted(facts: _Facts, names: Iterable[str], root: Path) -> dict[str, str]:
    """Digests that were noted of files; notes are by path, so those of an archived run are another's."""
    found = {name: digest_when_made(Path(name), root) for name in names if facts.run == facts.made_as}
    return {name: noted for name, noted in found.items() if noted is not None}


def _changed_since_made(noted: Mapping[str, str], root: Path) -> Iterator[Mismatch]:
    for name, expected in noted.items():
        if (found := sha256((root / name).read_bytes())) != expected:
            yield Mismatch(name, f"sha256 {expected}", f"sha256 {found}", "noted when it was made")


def _of_modes(facts: _Facts, names: Iterable[str]) -> bool:
    return all(name.startswith(f"{facts.run}/{MODES}/") for name in names)


def _directories(facts: _Facts, directories: list[Path], folder: Path, root: Path) -> Iterator[Mismatch]:
    for path in directories:
        kind, name = path.parent.name, path.relative_to(root).as_posix()
        note = path / "version.json"
        files = [file for file in sorted(path.rglob("*")) if file.is_file() and file != note]
        texts = {f.relative_to(path).as_posix(): f.read_bytes().decode(errors="replace") for f in files}
        if digest(texts) != path.name:
            known = facts.versions.get((kind, path.name))
            where = _first_difference(dict(known.files), texts) if known else ""
            yield Mismatch(f"{name}{where}", f"digest {path.name}", digest(texts), "the directory's name")
        if note.is_file():
            text = note.read_text(encoding="utf-8", errors="replace")
            if f'"digest": "{path.name}"' not in text or f'"kind": "{kind}"' not in text:
                yield Mismatch(f"{name}/version.json", f"the note of {kind} {path.name}", "another", name)
    if folder.is_dir():
        there = {(path.parent.name, path.name) for path in directories}
        for (kind, version), holder in facts.kept.items():
            if (kind, version) not in there:
                missing = (folder / kind / version).relative_to(root).as_posix()
                yield Mismatch(missing, "a directory", "none", f"version in {holder}")


def _first_difference(expected: dict[str, str], found: dict[str, str]) -> str:
    """`/path` of the first file that differs."""
    paths = sorted({*expected, *found})
    return next((f"/{path}" for path in paths if expected.get(path) != found.get(path)), "")


def _names(facts: _Facts) -> Iterator[Mismatch]:
    """Digests by which one artefact means another's content."""
    for (kind, version), name in facts.named.items():
        if (kind, version) not in facts.versions:
            yield Mismatch(name, f"a known version of the {kind}", version, "the version it names")
    texts = {(path, sha256(text)) for v in facts.versions.values() for path, text in v.files.items()}
    for (path, parent), name in facts.parents.items():
        if (path, parent) not in texts:
            yield Mismatch(name, f"sha256 of a text of {path}", parent, "the candidate's parent")
    for (kind, version), above in facts.notes.items():
        if above is not None and (kind, above) not in facts.notes:
            yield Mismatch(
                f"the note of {kind} version {version}", "a known parent", above, "the run's state"
            )


def _delivered(facts: _Facts, root: Path, run: str) -> dict[str, str]:
    """Delivered files with what they must be: the metrics, and the best version that they tell of."""
    metrics = f"{run}/{METRICS}"
    sources = {source for (source, _), holders in facts.stamps.items() if metrics in holders}
    out: dict[str, str] = {}
    if sources:
        value = read_json(root / metrics)
        out[METRICS] = canonical({key: part for key, part in value.items() if key not in STAMP_KEYS})
    for source in sorted(sources & facts.bests.keys()):
        for kind, version in facts.bests[source].items():
            known = facts.versions.get((kind, version))
            out |= {f"{DELIVERED[kind]}/{path}": text for path, text in known.files.items()} if known else {}
    return out


def _changed_since_delivery(delivered: dict[str, str], root: Path) -> Iterator[Mismatch]:
    for name, text in delivered.items():
        path = root / name
        found = f"sha256 {sha256(path.read_bytes())}" if path.is_file() else "no such file"
        if found != f"sha256 {sha256(text)}":
            because = f"the run's {METRICS}" if name == METRICS else "the best version"
            yield Mismatch(name, f"sha256 {sha256(text)}", found, because)
