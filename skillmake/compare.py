"""Two versions beside each other: their texts, and their accuracy on full validation where measured."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher, unified_diff

from skillmake.errors import DataError
from skillmake.history import KINDS, History
from skillmake.lineage import find_version
from skillmake.slow import Validation
from skillmake.terminal import WIDTH, rendered, share, table_text

CONTEXT = 3
Row = tuple[str, str, str]  # the old line, a sign, the new line


def compare_text(history: History, one: str, other: str, *, unified: bool) -> str:
    """Texts of versions `one` and `other` (see `find_version`) that differ, then the accuracy of both.

    Raises DataError when they are not of one kind, or when the run has not kept the text of one.
    """
    kind, (a, b) = _same_kind(history, one, other)
    old, new = _files(history, kind, a), _files(history, kind, b)
    changed = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    out = [f"Run {history.run}: {kind} version {a} ({one}) against {b} ({other})\n"]
    for path in changed:
        before, after = old.get(path), new.get(path)
        out.append("\n")
        if unified:
            out += [f"{line}\n" for line in diff_lines(before, after, f"{a}/{path}", f"{b}/{path}")]
        else:
            out.append(_side_by_side(path, _lines(before), _lines(after), (a, b)))
    if not changed:
        out.append("\nThe texts are the same.\n")
    return "".join(out) + "\n" + _accuracy(history, kind, a, b)


def diff_lines(before: str | None, after: str | None, old_name: str, new_name: str) -> list[str]:
    """A unified diff of two texts, the lines without their ends; empty where they are the same."""
    return list(unified_diff(_lines(before), _lines(after), old_name, new_name, lineterm="", n=CONTEXT))


def _same_kind(history: History, one: str, other: str) -> tuple[str, tuple[str, str]]:
    left, right = find_version(history, one), find_version(history, other)
    for kind in KINDS:
        if kind in left and kind in right:
            return kind, (left[kind], right[kind])
    raise DataError(
        f"{one} is a version of the {next(iter(left))}, {other} one of the {next(iter(right))}",
        "compare versions of one kind",
    )


def _files(history: History, kind: str, digest: str) -> Mapping[str, str]:
    files = history.files(kind, digest)
    if files is None:
        raise DataError(f"{digest}: run {history.run} has not kept the texts of this version")
    return files


def _lines(text: str | None) -> list[str]:
    """Lines as `diff` shows them; a text's end without a newline is one of its differences."""
    if not text:
        return []
    end = [] if text.endswith("\n") else ["\\ No newline at end of file"]
    return text.removesuffix("\n").split("\n") + end


def side_by_side(old: list[str], new: list[str]) -> Iterator[Row | None]:
    """Rows of what differs, with CONTEXT lines around; None where lines that are the same are left out.

    The sign is `-`, `+` or `~` for a line that goes, comes or changes.
    """
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number:
            yield None
        for op, a, a_end, b, b_end in group:
            for k in range(max(a_end - a, b_end - b)):
                left = old[a + k] if a + k < a_end else None
                right = new[b + k] if b + k < b_end else None
                sign = "+" if left is None else "-" if right is None else " " if op == "equal" else "~"
                yield left or "", sign, right or ""


def _side_by_side(path: str, old: list[str], new: list[str], digests: tuple[str, str]) -> str:
    from rich.table import Table
    from rich.text import Text

    table = Table(width=WIDTH)
    table.add_column(digests[0], ratio=1, overflow="fold")
    table.add_column("", width=1)
    table.add_column(digests[1], ratio=1, overflow="fold")
    for row in side_by_side(old, new):
        if row is None:
            table.add_section()
        else:
            table.add_row(*map(Text, row))
    return f"{path}\n{rendered(table)}"


def _accuracy(history: History, kind: str, a: str, b: str) -> str:
    left, right = _comparable(history, kind, a, b)
    if left is None and right is None:
        return "Neither version was measured on full validation.\n"
    before, after = (dict(side.by_type) if side else {} for side in (left, right))
    rows = [(name, *_cells(before.get(name), after.get(name))) for name in sorted({*before, *after})]
    rows.append(("all", *_cells(*(None if side is None else side.accuracy for side in (left, right)))))
    beside = "prompts" if kind == "skills" else "skills"
    with_ = [getattr(side, beside) for side in (left, right) if side]
    warning = (
        f"They were measured with different {beside}: {', '.join(with_)}.\n" if len(set(with_)) > 1 else ""
    )
    return table_text("Accuracy on full validation", ("task type", a, b, "change"), rows) + warning


def _comparable(history: History, kind: str, a: str, b: str) -> tuple[Validation | None, Validation | None]:
    """Validations of both versions, with the same version of the other kind where there are such."""
    left, right = history.measured(kind, a), history.measured(kind, b)
    beside = "prompts" if kind == "skills" else "skills"
    for one in left:
        for other in right:
            if getattr(one, beside) == getattr(other, beside):
                return one, other
    return (left[0] if left else None), (right[0] if right else None)


def _cells(before: float | None, after: float | None) -> tuple[str, str, str]:
    change = "-" if before is None or after is None else f"{after - before:+.3f}"
    return share(before), share(after), change
