"""A blame as text: the lines with their origins' numbers, then what each number stands for."""

from collections.abc import Sequence
from textwrap import fill

from skillmake.blame import Blame, Origin, proposed_by
from skillmake.edits import Edit
from skillmake.history import Gated, History
from skillmake.terminal import WIDTH

SHORT_KEY = 12
SHOWN_CALLS = 6


def blame_text(history: History, blame: Blame, *, all_calls: bool) -> str:
    """`all_calls`: every key of a call in full, instead of the first few by their prefixes."""
    kind, digest = blame.version
    origins = list(dict.fromkeys(line.origin for line in blame.lines))
    numbered = [o for o in origins if not o.is_seed and o.note is not None]
    names = {o: f"[{number}]" for number, o in enumerate(numbered, 1)}
    gutter = max(4, *(len(name) for name in names.values())) if names else 4
    out = [f"{blame.path} of {kind} version {digest}, run {history.run}", ""]
    for number, line in enumerate(blame.lines, 1):
        name = names.get(line.origin, "seed" if line.origin.is_seed else "hand")
        out.append(f"{name:<{gutter}} {number:>4}  {line.text}".rstrip())
    out.append("")
    if any(o.is_seed for o in origins):
        out.append("seed: a line of the seed")
    if any(o.note is None for o in origins):
        out.append(f"hand: changed by hand since version {digest}, in no version of the run")
    for origin in numbered:
        out += ["", *_told(history, names[origin], origin, all_calls)]
    return "\n".join(out) + "\n"


def _told(history: History, name: str, origin: Origin, all_calls: bool) -> list[str]:
    note = origin.note
    assert note is not None
    rows = [
        ("version", f"{note.digest} from {note.parent}"),
        ("step", f"epoch {note.epoch}, step {note.step} ({note.source})"),
    ]
    if origin.gate is None:
        rows.append(("why", note.description or note.source))
        if origin.made is not None:
            rows.append(("artefact", origin.made.artefact))
            rows.append(("teacher", _calls(origin.made.calls, all_calls)))
    else:
        rows += _evidence(proposed_by(history, origin.gate), origin.gate, origin.edit, all_calls)
    head = _edit(origin.edit) if origin.edit else "no single edit: the version as a whole"
    label = max(len(key) for key, _ in rows)
    return [_wrapped(f"{name} ", head)] + [_wrapped(f"    {k:<{label}}  ", v) for k, v in rows]


def _wrapped(label: str, text: str) -> str:
    return fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _edit(edit: Edit) -> str:
    place = f" in {edit.section}" if edit.section not in ("", "*") else ""
    return f"{edit.op}{place}: {edit.reason or 'no reason given'}"


def _evidence(first: Gated, gate: Gated, edit: Edit | None, all_calls: bool) -> list[tuple[str, str]]:
    cases, whence = (edit.support, "edit") if edit and edit.support else (first.candidate.pack_units, "pack")
    decision, n = gate.decision, gate.decision.numbers
    carried = gate.candidate.steps_carried
    return [
        ("cases", f"{', '.join(cases) or 'none'} ({whence})"),
        *([("carried", f"proposed at step {first.step}, carried {carried} times")] if carried else []),
        (
            "gate",
            f"{decision.action} ({decision.stop_reason}): W {n.wins}, L {n.losses} of {n.n} units, "
            f"e {n.e:.2f} (confirms at {decision.confirm_at:g}, provisional at {decision.provisional_at:g})",
        ),
        ("teacher", _calls(first.candidate.calls, all_calls)),
        ("candidate", _calls(gate.candidate_calls, all_calls)),
        ("baseline", _calls(gate.baseline_calls, all_calls)),
    ]


def _calls(keys: Sequence[str], whole: bool) -> str:
    if not keys:
        return "no call"
    shown = [key if whole else key[:SHORT_KEY] for key in (keys if whole else keys[:SHOWN_CALLS])]
    more = f" and {len(keys) - len(shown)} more" if len(shown) < len(keys) else ""
    return f"calls {', '.join(shown)}{more}"
