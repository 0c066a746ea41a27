"""Lineage of a version: its ancestors to the seed, each with its gate evidence and accuracy."""

import re
from collections.abc import Mapping

from skillmake.errors import DataError
from skillmake.history import KINDS, Gated, History, Key
from skillmake.state import VersionNote
from skillmake.terminal import share, table_text

COLUMNS = ("version", "source", "action", "epoch", "step", "W", "L", "units", "e", "validation")
LEFT = 3


def find_version(history: History, name: str) -> dict[str, str]:
    """Digest by kind of the version that `name` means: a digest or unique prefix, or `seed`, `best`,
    `epoch:N`, which name one version of each kind. Raises DataError when it means none or several."""
    if name == "best":
        return {"skills": history.best.skills, "prompts": history.best.prompts}
    if name == "seed" or re.fullmatch(r"epoch:\d+", name):
        epoch = 0 if name == "seed" else int(name.removeprefix("epoch:"))
        if epoch not in history.ends:
            last = max(history.ends, default=0)
            raise DataError(f"{name}: run {history.run} has no such end of an epoch", f"its last is {last}")
        return dict(history.ends[epoch])
    found = [key for key in history.notes if name and key[1].startswith(name)]
    if len(found) == 1:
        return {found[0][0]: found[0][1]}
    some = ", ".join(digest for _, digest in found or history.notes)
    if found:
        raise DataError(
            f"{name}: several versions of run {history.run} start so", f"give more of one: {some}"
        )
    raise DataError(
        f"{name}: no version of run {history.run} starts so", f"seed, best, epoch:N, or one of: {some}"
    )


def one_kind(found: Mapping[str, str]) -> Key:
    """The version itself, of the skills where there is one of each kind."""
    kind = next(kind for kind in KINDS if kind in found)
    return kind, found[kind]


def ancestry(history: History, kind: str, digest: str) -> list[VersionNote]:
    """Notes from the version back to the seed, along the parents of each version's first appearance.

    Raises DataError when the chain does not end at a seed, which no run does by itself.
    """
    out: list[VersionNote] = []
    wanted: str | None = digest
    while wanted is not None:
        note = history.notes.get((kind, wanted))
        if note is None or note in out:
            raise DataError(
                f"run {history.run}: the ancestry of {kind} version {digest} breaks at {wanted}",
                "`skillmake verify` names what was changed",
            )
        out.append(note)
        wanted = note.parent
    return out


def gate_of(history: History, note: VersionNote, path: str) -> Gated | None:
    """The gate that let in the text which `path` has in the noted version; None when no gate of that step
    did: a seed, a rollback, momentum."""
    files = history.files(note.kind, note.digest)
    if files is None or note.kind != "skills":
        return None
    for gate in history.gates:
        candidate = gate.candidate
        if (
            gate.accepted
            and gate.step == note.step
            and (candidate.path, candidate.text)
            == (
                path,
                files.get(path),
            )
        ):
            return gate
    return None


def gates_of(history: History, note: VersionNote) -> list[Gated]:
    """Gates of everything that the noted version changed."""
    before, after = history.files(note.kind, note.parent), history.files(note.kind, note.digest)
    if before is None or after is None:
        return []
    changed = sorted(path for path in after if after[path] != before.get(path))
    return [gate for path in changed if (gate := gate_of(history, note, path)) is not None]


def lineage_text(history: History, kind: str, digest: str) -> str:
    """The ancestry as a table, the version first and the seed last, and where the version came back."""
    rows = []
    for note in ancestry(history, kind, digest):
        gates = gates_of(history, note)
        measured = ", ".join(share(v.accuracy) for v in history.measured(kind, note.digest)) or share(None)
        for action, *numbers in [_evidence(gate) for gate in gates] or [("-",) * 5]:
            source = _source(note, gated=bool(gates))
            rows.append([note.digest, source, action, str(note.epoch), str(note.step), *numbers, measured])
    again = [
        f"came back in epoch {note.epoch}, step {note.step}: {_source(note, gated=False)}\n"
        for note in history.returns
        if (note.kind, note.digest) == (kind, digest)
    ]
    title = f"Run {history.run}: {kind} version {digest}"
    return table_text(title, COLUMNS, rows, LEFT) + "".join(again)


def _source(note: VersionNote, *, gated: bool) -> str:
    """What made the version; its description tells more only where the gate's numbers do not."""
    if gated or note.description in ("", note.source):
        return note.source
    return f"{note.source} ({note.description})"


def _evidence(gate: Gated) -> tuple[str, ...]:
    n = gate.decision.numbers
    return gate.decision.action, str(n.wins), str(n.losses), str(n.n), f"{n.e:.2f}"
