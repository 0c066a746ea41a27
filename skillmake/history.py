"""The history of a run, read back from its artefacts: versions, their notes, gates and validations.

Artefacts are known by their fields and not by their file's name, so that a new rule that makes versions or
measures them needs no word here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from skillmake.artifacts import Model, read_json, read_model
from skillmake.benchmark import Benchmark
from skillmake.candidate import Candidate
from skillmake.errors import DataError
from skillmake.gate import Decision
from skillmake.rollout import Rollout
from skillmake.runs import artefact_files, is_kind, objects
from skillmake.settle import GateResult
from skillmake.slow import Validation, validate
from skillmake.state import Best, State, VersionNote
from skillmake.texts import Texts, Version

KINDS = ("skills", "prompts")
MADE = {"path", "text", "calls"}
Key = tuple[str, str]  # kind and digest of a version


@dataclass(frozen=True)
class Gated:
    """A candidate that was accepted or carried, at step `step` of the run.

    `baseline_calls`, `candidate_calls`: keys of the calls behind the outcomes of both sides.
    """

    step: int
    candidate: Candidate
    decision: Decision
    baseline_calls: tuple[str, ...] = ()
    candidate_calls: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.decision.action in ("accept", "accept_provisional")


@dataclass(frozen=True)
class Made:
    """A text that was made without a candidate, as momentum is: in which artefact, and by which calls."""

    artefact: str
    path: str
    text: str
    calls: tuple[str, ...]


@dataclass(frozen=True)
class History:
    """What a run says of its versions.

    `notes`: how each version came to be for the first time, in order of time; `returns`: how versions came
    back later; `ends`: version of each kind that an epoch ended with, 0 is the seed.
    """

    run: str
    notes: Mapping[Key, VersionNote]
    returns: Sequence[VersionNote]
    versions: Mapping[Key, Version]
    gates: Sequence[Gated]
    made: Sequence[Made]
    validations: Sequence[Validation]
    best: Best
    ends: Mapping[int, Mapping[str, str]]

    def files(self, kind: str, digest: str | None) -> Mapping[str, str] | None:
        """Texts of a version by path; None when the run has not kept them."""
        version = self.versions.get((kind, digest or ""))
        return None if version is None else version.files

    def measured(self, kind: str, digest: str) -> list[Validation]:
        """Full validations of a version, one for each version of the other kind, in order of time."""
        found = {(v.skills, v.prompts): v for v in self.validations if getattr(v, kind) == digest}
        return list(found.values())


@dataclass
class _Collected:
    """What one pass over the artefacts has found."""

    versions: dict[Key, Version] = field(default_factory=dict)
    places: dict[Key, str] = field(default_factory=dict)
    gates: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    validations: list[Validation] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=dict)
    ends: dict[int, dict[str, str]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


def read_history(run_dir: Path) -> History:
    """Read a run; raises DataError naming the artefact that is missing or cannot be read."""
    found = _Collected()
    for path in artefact_files(run_dir):
        if path.suffix == ".json":
            _collect(found, path.relative_to(run_dir).as_posix(), path, read_json(path))
    if not found.state:
        raise DataError(f"{run_dir}: the run has no state yet", "run `snakemake --cores 8` first")
    told = [_as(VersionNote, note, run_dir) for note in found.state["versions"]]
    notes = _first_notes(told, found)
    gates = _gates(found, run_dir)
    return History(
        run=run_dir.resolve().name,
        notes=notes,
        returns=[note for note in told if notes[note.kind, note.digest] is not note],
        versions=_with_rebuilt(found.versions, notes.values(), gates),
        gates=gates,
        made=found.made,
        validations=[*_seed_validation(run_dir), *found.validations],
        best=_as(Best, found.state["best"], run_dir),
        ends=found.ends,
    )


def _collect(found: _Collected, name: str, path: Path, value: Any) -> None:
    for each in objects(value):
        if is_kind(each, Texts):
            texts = _as(Texts, each, path)
            for kind, version in (("skills", texts.skills), ("prompts", texts.prompts)):
                found.versions.setdefault((kind, version.digest), version)
                found.places.setdefault((kind, version.digest), name)
            if (epoch := _epoch_that_ends_with(name)) is not None and each is value:
                found.ends[epoch] = {"skills": texts.skills.digest, "prompts": texts.prompts.digest}
        elif is_kind(each, GateResult) and each["decision"] is not None:
            found.gates.append((name, each))
        elif each.keys() >= MADE and not is_kind(each, Candidate):
            found.made.append(Made(name, each["path"], each["text"], tuple(each["calls"])))
        elif is_kind(each, Validation):
            found.validations.append(_as(Validation, each, path))
        elif is_kind(each, State):
            if path.name == "state.json":
                found.steps[_folder(name)] = each["step"]
            if _age(each) >= _age(found.state):
                found.state = each


def _as(model: type[Model], value: dict[str, Any], path: Path) -> Model:
    try:
        return model.model_validate({k: v for k, v in value.items() if k in model.model_fields})
    except ValidationError as error:
        raise DataError(
            f"{path}: not a valid {model.__name__}: {error.errors()[0]['msg']}",
            "`skillmake verify` names what was changed",
        ) from None


def _age(state: Mapping[str, Any]) -> tuple[int, int, int]:
    return (len(state["versions"]), state["epoch"], state["step"]) if state else (-1, -1, -1)


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _epoch_that_ends_with(name: str) -> int | None:
    if name == "data/texts.json":
        return 0
    match = re.fullmatch(r"e(\d+)/end/texts\.json", name)
    return int(match[1]) if match else None


def _first_notes(told: Iterable[VersionNote], found: _Collected) -> dict[Key, VersionNote]:
    notes: dict[Key, VersionNote] = {}
    for note in told:
        notes.setdefault((note.kind, note.digest), note)
    for (kind, digest), version in found.versions.items():
        if (kind, digest) not in notes:
            name = found.places[kind, digest]
            epoch = re.match(r"e(\d+)/", name)
            notes[kind, digest] = VersionNote(
                digest=digest,
                parent=version.parent,
                kind=kind,
                source=version.source,
                epoch=int(epoch[1]) if epoch else 0,
                step=found.steps.get(_folder(name), 0),
                description="",
            )
    return notes


def _gates(found: _Collected, run_dir: Path) -> list[Gated]:
    """Gates of settled steps that accepted or carried their candidate; others have made no version."""
    out = []
    for name, raw in found.gates:
        folder = _folder(name)
        step = found.steps.get(folder, found.steps.get(_folder(folder)))
        decision = _as(Decision, raw["decision"], run_dir / name)
        if step is not None and (decision.action.startswith("accept") or decision.stop_reason == "carried"):
            out.append(
                Gated(
                    step=step,
                    candidate=_as(Candidate, raw["candidate"], run_dir / name),
                    decision=decision,
                    baseline_calls=_calls(raw["baseline_rows"]),
                    candidate_calls=_calls(raw["candidate_rows"]),
                )
            )
    return sorted(out, key=lambda gate: (gate.step, gate.candidate.task_type))


def _calls(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call for row in rows for call in row["calls"]))


def _with_rebuilt(
    versions: Mapping[Key, Version], notes: Iterable[VersionNote], gates: Sequence[Gated]
) -> dict[Key, Version]:
    """Also the versions that no artefact holds: those between two changes of one job.

    Two types accepted in one step make two versions, and only the second is written. The first is its parent
    with one file exchanged for a text that the run knows: the digest says which.
    """
    out = dict(versions)
    for note in notes:
        parent = out.get((note.kind, note.parent or ""))
        if (note.kind, note.digest) in out or parent is None:
            continue
        for path, text in _texts_by_likelihood(note, versions, gates):
            if path in parent.files:
                tried = parent.changed(path, text, note.source)
                if tried.digest == note.digest:
                    out[note.kind, note.digest] = tried
                    break
    return out


def _texts_by_likelihood(
    note: VersionNote, versions: Mapping[Key, Version], gates: Sequence[Gated]
) -> list[tuple[str, str]]:
    """Texts with their paths; those that were accepted in the note's step first."""
    accepted = sorted((gate for gate in gates if gate.accepted), key=lambda gate: gate.step != note.step)
    texts = [(gate.candidate.path, gate.candidate.text) for gate in accepted if note.kind == "skills"]
    for (kind, _), version in versions.items():
        texts += version.files.items() if kind == note.kind else ()
    return list(dict.fromkeys(texts))


def _seed_validation(run_dir: Path) -> list[Validation]:
    """The seed is measured by its baseline rollouts, which cover all questions."""
    data = run_dir / "data"
    names = ("questions.jsonl", "pools.json", "texts.json", "baseline.json")
    if not all((data / name).is_file() for name in names):
        return []
    questions, pools, texts, baseline = (data / name for name in names)
    units = Benchmark.read(questions, pools).validation
    return [validate(read_model(texts, Texts), read_model(baseline, Rollout).rows, units)]
