"""Bounded edits of a skill text, each with its report (SPEC §5)."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import cos, floor, pi
from typing import Literal

from rapidfuzz import fuzz

from skillmake.artifacts import Artifact
from skillmake.errors import DataError
from skillmake.skilltext import (
    APPENDIX,
    EXAMPLES,
    MARKER,
    MOMENTUM,
    Example,
    appendix_items,
    authored,
    estimated_tokens,
    examples,
    front_matter,
    joined,
    momentum,
    parse_skill,
    section,
    with_examples,
)

DEFAULT_SECTION = "Rules"
NEAR_DUPLICATE = 90.0
Status = Literal[
    "applied",
    "applied_fuzzy",
    "target_not_found",
    "ambiguous",
    "protected",
    "over_budget",
    "duplicate",
    "leak",
    "over_cap",
    "no_effect",
]


class Edit(Artifact):
    """One edit. `text` and `answer` of op `example` are the worked example; `replace` with an `answer`
    exchanges the example whose question is `anchor`. `support`: ids of the cases it is meant for."""

    op: Literal["add", "replace", "delete", "example"]
    anchor: str = ""
    section: str = ""
    text: str = ""
    answer: str = ""
    reason: str = ""
    support: tuple[str, ...] = ()


class EditReport(Artifact):
    """What became of an edit."""

    edit: Edit
    status: Status
    detail: str = ""


@dataclass(frozen=True)
class ApplyResult:
    """The new text, one report per edit in the order given, and whether the budget clipped some."""

    text: str
    reports: tuple[EditReport, ...]
    clipped: bool


class _Refused(Exception):  # noqa: N818 - not an error
    def __init__(self, status: Status, detail: str = "") -> None:
        self.status: Status = status
        self.detail = detail


def apply_edits(
    text: str,
    edits: Sequence[Edit],
    *,
    budget: int,
    fuzzy_threshold: float,
    token_cap: int,
    leaks: Callable[[Edit], str | None],
    ranked: Sequence[int] | None = None,
    cases: Collection[str] | None = None,
) -> ApplyResult:
    """Apply at most `budget` edits in their order; the best supported ones are kept.

    `fuzzy_threshold`: similarity 0-100 from which an anchor that is not exact counts. `token_cap`: an
    edit after which the text is longer is undone. `leaks`: the leak guard. `ranked`: places of the edits,
    the best first, instead of their support. `cases`: those that count as support, for a model may name some
    that nobody has shown it; None counts all.
    """
    kept = _within_budget([_named(edit, cases) for edit in edits], budget, ranked)
    reports = []
    for number, edit in enumerate(edits):
        if number not in kept:
            reports.append(EditReport(edit=edit, status="over_budget", detail=f"budget {budget}"))
            continue
        try:
            changed, status = _apply(text, edit, fuzzy_threshold, leaks)
            _check(text, changed, token_cap)
            _check_examples(text, changed, edit, leaks)
        except _Refused as refused:
            reports.append(EditReport(edit=edit, status=refused.status, detail=refused.detail))
            continue
        text = changed
        reports.append(EditReport(edit=edit, status=status))
    return ApplyResult(text, tuple(reports), clipped=len(kept) < len(edits))


def _named(edit: Edit, cases: Collection[str] | None) -> int:
    """How many cases an edit is meant for."""
    return len({name for name in edit.support if cases is None or name in cases})


def _within_budget(support: Sequence[int], budget: int, ranked: Sequence[int] | None) -> set[int]:
    by_support = sorted(range(len(support)), key=lambda k: (-support[k], k))
    # A model's ranking may leave places out or name some that do not exist
    order = dict.fromkeys([*(k for k in ranked or () if 0 <= k < len(support)), *by_support])
    return set(list(order)[: max(0, budget)])


def _apply(
    text: str, edit: Edit, threshold: float, leaks: Callable[[Edit], str | None]
) -> tuple[str, Status]:
    if any(MARKER.search(part) for part in (edit.text, edit.answer, edit.anchor, edit.section)):
        raise _Refused("protected", "momentum markers are not an edit's business")
    if edit.op != "delete" and not edit.text.strip():
        raise _Refused("no_effect", "the text is empty")
    if leak := leaks(edit):
        raise _Refused("leak", leak)
    shown = examples(text)
    same = [k for k, e in enumerate(shown) if _same(e.question, edit.anchor)]
    if len(same) > 1 and edit.op in ("replace", "delete"):
        raise _Refused("ambiguous", f"{len(same)} worked examples have this question")
    at = same[0] if same else None
    if edit.op == "example":
        if not edit.answer:
            raise _Refused("no_effect", "the example has no answer")
        return _with_example(text, shown, len(shown), edit), "applied"
    if at is not None and edit.op == "delete":
        return with_examples(text, shown[:at] + shown[at + 1 :]), "applied"
    if edit.op == "replace" and edit.answer:
        if at is None:
            raise _Refused("target_not_found", "no worked example has this question")
        return _with_example(text, shown[:at] + shown[at + 1 :], at, edit), "applied"
    if edit.op == "add" and _has_lines(text, edit.text):
        raise _Refused("duplicate", "the text has all of it")
    if edit.op == "add" and not edit.anchor:
        return _at_section_end(text, edit.section or DEFAULT_SECTION, edit.text), "applied"
    start, end, status = _find(text, edit.anchor, threshold)
    return _change(text, edit, start, end), status


def _with_example(text: str, shown: list[Example], at: int, edit: Edit) -> str:
    if any(_same(example.question, edit.text) for example in shown):
        raise _Refused("duplicate", "there is a worked example with this question")
    return with_examples(text, [*shown[:at], Example(edit.text, edit.answer), *shown[at:]])


def _find(text: str, anchor: str, threshold: float) -> tuple[int, int, Status]:
    """Start and end of the anchored text; exact and unique, else the one clearly best line."""
    wanted = anchor.strip()
    if not wanted:
        raise _Refused("target_not_found", "the anchor is empty")
    head = len(front_matter(text))
    starts = [m.start() for m in re.finditer(f"(?={re.escape(wanted)})", text)]
    places = [start for start in starts if start >= head] or starts
    if len(places) > 1:
        raise _Refused("ambiguous", f"{len(places)} places hold the anchor")
    if places:
        _protect(text, places[0], places[0] + len(wanted))
        return places[0], places[0] + len(wanted), "applied"
    lines = [m.span() for m in re.finditer(r"[^\n]*\S[^\n]*", text) if m.start() >= head]
    scored = sorted(((fuzz.ratio(wanted, text[a:b].strip()), a, b) for a, b in lines), reverse=True)
    close = [entry for entry in scored if entry[0] >= threshold]
    if not close:
        raise _Refused("target_not_found", f"no line is {threshold:g} % like the anchor")
    if len(close) > 1 and close[1][0] == close[0][0]:
        raise _Refused("ambiguous", "two lines are equally like the anchor")
    _, start, end = close[0]
    _protect(text, start, end)
    return start, end, "applied_fuzzy"


def _protect(text: str, start: int, end: int) -> None:
    if start < len(front_matter(text)):
        raise _Refused("protected", "the front matter is out of reach")
    block = MOMENTUM.search(text)
    if block and start < block.end() and end > block.start():
        raise _Refused("protected", "the momentum block is out of reach")


def _change(text: str, edit: Edit, start: int, end: int) -> str:
    if edit.op == "replace":
        new = edit.text.strip()
        if any(m.start() <= start and end <= m.start() + len(new) for m in re.finditer(re.escape(new), text)):
            raise _Refused("no_effect", "the new text stands there already")
        return text[:start] + new + text[end:]
    if edit.op == "add":
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        return f"{text[:stop]}\n{edit.text.strip()}{text[stop:]}"
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    whole = text[line_start:line_end].strip(" -*\n") == text[start:end].strip(" -*\n")
    return text[:line_start] + text[line_end:] if whole else text[:start] + text[end:]


def _at_section_end(text: str, name: str, addition: str) -> str:
    heading = name if name.startswith("#") else f"## {name.strip()}"
    place = section(text, heading)
    if place is not None:
        inside = text[: place[1]].rstrip("\n")
        gap = "\n" if inside.splitlines()[-1].lstrip().startswith(("-", "*")) else "\n\n"
        return joined(f"{inside}{gap}{addition.strip()}\n", text[place[1] :])
    block = MOMENTUM.search(text)
    cut = block.start() if block else len(text)
    return joined(f"{text[:cut].rstrip()}\n\n{heading}\n\n{addition.strip()}\n", text[cut:])


def _check(old: str, new: str, token_cap: int) -> None:
    if new == old:
        raise _Refused("no_effect", "the text stays the same")
    if front_matter(new) != front_matter(old) or momentum(new) != momentum(old):
        raise _Refused("protected", "front matter and momentum block must stay")
    try:
        parse_skill(new)
    except DataError as error:
        raise _Refused("protected", error.message) from None
    if estimated_tokens(new) > token_cap and len(new) > len(old):
        raise _Refused("over_cap", f"{estimated_tokens(new)} tokens of {token_cap}")


def _check_examples(old: str, new: str, edit: Edit, leaks: Callable[[Edit], str | None]) -> None:
    """Worked examples change by their own edits only, and what comes out of an edit of one may not leak."""
    before, after = examples(old), examples(new)
    made = [example for example in after if example not in before]
    if edit.op != "example" and not (edit.op == "replace" and edit.answer):
        whole = edit.op == "delete" and len(after) == len(before) - 1 and not made
        part = edit.op != "add" and len(after) == len(before) and len(made) == 1
        stays = before == after and bool(section(old, EXAMPLES)) == bool(section(new, EXAMPLES))
        if not whole and not part and not (stays and authored(old) == authored(new)):
            raise _Refused(
                "no_effect", "worked examples need an edit of their own: the agent sees no text there"
            )
    for example in made:
        if leak := leaks(Edit(op="example", text=example.question, answer=example.answer)):
            raise _Refused("leak", leak)


def _same(a: str, b: str) -> bool:
    return " ".join(a.casefold().split()) == " ".join(b.casefold().split())


def _has_lines(text: str, addition: str) -> bool:
    return _plain_lines(addition) <= _plain_lines(text)


def _plain_lines(text: str) -> set[str]:
    """Lines of a text without bullets, case and spacing; empty ones are left out."""
    lines = (" ".join(line.strip().lstrip("-* ").casefold().split()) for line in text.splitlines())
    return set(filter(None, lines))


def consolidate_appendix(text: str, threshold: int) -> str:
    """Bring an appendix of more than `threshold` items down to it: near-duplicates go, then the oldest.

    What stands before the first item stays.
    """
    items = appendix_items(text)
    place = section(text, APPENDIX)
    if place is None or len(items) <= threshold:
        return text
    kept: list[str] = []
    for item in reversed(items):  # the newer of two alike stays
        if all(fuzz.ratio(item, other) < NEAR_DUPLICATE for other in kept):
            kept.insert(0, item)
    lines = "\n".join(f"- {item}" for item in kept[-threshold:])
    rest = text[place[1] :].strip("\n")
    head = text[: text.index("\n- ", place[0])].rstrip("\n")
    return f"{head}\n\n{lines}\n" + (f"\n{rest}\n" if rest else "")


def edit_budget(step: int, total_steps: int, start: int, end: int, schedule: str) -> int:
    """Most edits in step `step` (0-based) of `total_steps`, rounded half up; falls from start to end."""
    share = step / (total_steps - 1) if total_steps > 1 else 0.0
    if schedule == "constant":
        return start
    if schedule == "cosine":
        share = (1 - cos(pi * share)) / 2
    return floor(start + (end - start) * share + 0.5)
