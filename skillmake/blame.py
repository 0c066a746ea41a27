"""Blame: the edit, step, cases, evidence and calls behind each line of a skill file (SPEC §2, §5, §6)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from skillmake.edits import Edit, apply_edits
from skillmake.errors import DataError
from skillmake.history import KINDS, Gated, History, Key, Made
from skillmake.lineage import ancestry, gate_of
from skillmake.runs import DELIVERED
from skillmake.state import VersionNote


@dataclass(frozen=True)
class Origin:
    """What brought a line. No note: it was changed by hand; no edit: no single edit explains it.

    `made`: where a text was written that came through no gate of a step.
    """

    note: VersionNote | None
    gate: Gated | None = None
    edit: Edit | None = None
    made: Made | None = None

    @property
    def is_seed(self) -> bool:
        return self.note is not None and self.note.parent is None


@dataclass(frozen=True)
class Line:
    text: str
    origin: Origin


@dataclass(frozen=True)
class Blame:
    """Lines of one file; `version` is the one that holds it, or that a changed file was compared with."""

    version: Key
    path: str
    lines: tuple[Line, ...]


def blame_file(history: History, file: Path, text: str) -> Blame:
    """Blame of a delivered file or of a version's file with content `text`.

    Lines that no version has count as changed by hand. Raises DataError when the run has no such file.
    """
    kind, path, digest = _place(file)
    version = _holder(history, kind, path, text, digest)
    lines = blame_version(history, *version, path)
    if text != (history.files(*version) or {})[path]:
        lines = _carried_over(lines, text, Origin(note=None))
    return Blame(version=version, path=path, lines=tuple(lines))


def _place(file: Path) -> tuple[str, str, str | None]:
    """Kind, path in its version, and digest where the file lies in a version's directory."""
    parts = file.resolve().parts
    for at in range(len(parts) - 1):
        if parts[at] == "versions" and parts[at + 1] in KINDS and len(parts) > at + 3:
            return parts[at + 1], "/".join(parts[at + 3 :]), parts[at + 2]
        if parts[at] == DELIVERED["prompts"]:
            return "prompts", "/".join(parts[at + 1 :]), None
    return "skills", "/".join(parts[-2:]), None


def _holder(history: History, kind: str, path: str, text: str, digest: str | None) -> Key:
    known = [key for key in history.notes if key[0] == kind and path in (history.files(*key) or {})]
    if not known:
        raise DataError(
            f"{path}: no version of run {history.run} has such a file",
            "name a delivered <slug>/SKILL.md or a file of a version, and its run with --run",
        )
    best = (kind, history.best.skills if kind == "skills" else history.best.prompts)
    preferred = [key for key in ((kind, digest or ""), best) if key in known]
    same = [key for key in [*preferred, *known] if (history.files(*key) or {})[path] == text]
    return [*(preferred if digest else []), *same, *preferred, *known][0]


def blame_version(history: History, kind: str, digest: str, path: str) -> list[Line]:
    """Lines of a version's file with their origins, walking its ancestors from the seed on.

    A version whose text the run has not kept is passed over: the next one answers for its lines. A text that
    an ancestor had before (a rollback, a revert) has the origins it had there.
    """
    text, lines = "", list[Line]()
    seen: dict[str, list[Line]] = {}
    for note in reversed(ancestry(history, kind, digest)):
        files = history.files(kind, note.digest)
        if files is None:
            continue
        before, text = text, files.get(path, "")
        if text not in seen:
            for stage, origin in _stages(history, note, path, before):
                lines = _carried_over(lines, stage, origin)
            seen[text] = lines
        lines = seen[text]
    return lines


def _stages(history: History, note: VersionNote, path: str, before: str) -> Iterator[tuple[str, Origin]]:
    """Texts between a version's parent and itself with their origins: one for each edit that was applied."""
    gate = gate_of(history, note, path)
    applied = gate.candidate.applied if gate is not None else ()
    text = before
    for edit in applied:
        # Anchors were found when the edit was made: the likeliest line now is the one that was taken then
        result = apply_edits(
            text,
            [edit],
            budget=1,
            fuzzy_threshold=0,
            token_cap=len(text) + len(edit.text) + len(edit.answer),
            leaks=lambda _: None,
        )
        if result.text != text:
            text = result.text
            yield text, Origin(note, gate, edit)
    # What the edits leave unexplained: a rewrite, a consolidated appendix, a version without a gate
    after = (history.files(note.kind, note.digest) or {}).get(path, "")
    made = next((m for m in history.made if gate is None and (m.path, m.text) == (path, after)), None)
    yield after, Origin(note, gate, applied[0] if len(applied) == 1 else None, made)


def _carried_over(old: Sequence[Line], text: str, origin: Origin) -> list[Line]:
    """Lines of `text`: what was there keeps its origin, also where it has moved; the rest has `origin`."""
    new = text.removesuffix("\n").split("\n") if text else []
    matcher = SequenceMatcher(None, [line.text for line in old], new, autojunk=False)
    moved: dict[str, list[Origin]] = {}
    for op, start, end, _, _ in matcher.get_opcodes():
        for line in old[start:end] if op != "equal" else ():
            moved.setdefault(line.text, []).append(line.origin)
    out: list[Line] = []
    for op, start, end, new_start, new_end in matcher.get_opcodes():
        if op == "equal":
            out += old[start:end]
            continue
        for line_text in new[new_start:new_end]:
            origins = moved.get(line_text) if line_text.strip() else None
            out.append(Line(line_text, origins.pop(0) if origins else origin))
    return out


def proposed_by(history: History, gate: Gated) -> Gated:
    """The gate at which this candidate stood first: one that was carried has lost its pack and its calls."""
    made = (gate.candidate.path, gate.candidate.parent, gate.candidate.text)
    for earlier in history.gates:
        candidate = earlier.candidate
        if candidate.steps_carried == 0 and (candidate.path, candidate.parent, candidate.text) == made:
            return earlier
    return gate
