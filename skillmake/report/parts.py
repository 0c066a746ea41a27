"""What a page is made of: tables and figures, with words for those who do not see them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

# A cell is a text, or markup that is safe already; its class says how it is shown.
Cell = str | Markup
NONE = "–"
SHORT = 28  # characters of a cell that is not broken into lines


@dataclass(frozen=True)
class Table:
    """`columns`: names; those in `numeric` are to the right. The first cell of a row is its header."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric: frozenset[str] = frozenset()
    note: str = ""

    @property
    def right(self) -> list[bool]:
        return [column in self.numeric for column in self.columns]

    def shape(self, place: int, cell: Cell) -> str:
        """The class of a cell: a number, one line, or a text of several."""
        size = len(Markup(cell).striptags())
        return "n" if self.right[place] else "line" if size <= SHORT else "long"


@dataclass(frozen=True)
class Facts:
    """The numbers at the top: what it is, its value, and what to know of it."""

    items: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Grid:
    """A table of short cells with a class each, for colours; the first column names its rows."""

    caption: str
    corner: str
    columns: Sequence[Cell]
    rows: Sequence[tuple[str, Sequence[tuple[Cell, str]]]]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """`svg`: trusted; `label`: what one sees there, in words."""

    svg: Markup
    label: str
    caption: str = ""


@dataclass(frozen=True)
class Fold:
    """Something to be opened. `anchor`: its name in links; `parts`: tables, figures, diffs, paragraphs."""

    title: Cell
    parts: Sequence[object]
    anchor: str = ""
    is_open: bool = False


@dataclass(frozen=True)
class Diff:
    """Lines of a unified diff with the class of each."""

    lines: Sequence[str]
    title: str = ""

    @property
    def marked(self) -> list[tuple[str, str]]:
        kinds = {"+": "add", "-": "del", "@": "at"}
        return [(kinds.get(line[:1], ""), line) for line in self.lines if not line.startswith(("---", "+++"))]


@dataclass(frozen=True)
class Text:
    """A text with its line breaks."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class Section:
    """`parts`: as in a fold, a string is a paragraph."""

    anchor: str
    title: str
    parts: Sequence[object] = field(default_factory=tuple)


def share(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    return NONE if value is None else f"{value:+.3f}"


def count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def evidence(value: float | None) -> str:
    return NONE if value is None else f"{value:,.2f}"


def money(value: float) -> str:
    return f"{value:,.4f}" if 0 < value < 1 else f"{value:,.2f}"


def seconds(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def cut(text: str, most: int) -> str:
    """The text in one line, and an ellipsis where it was longer."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(words: Iterable[str]) -> str:
    return ", ".join(words) or NONE


def link(anchor: str, text: str, title: str = "") -> Markup:
    """`title`: said instead of the text, where the text is a sign."""
    told = Markup(' title="{0}" aria-label="{0}"').format(title) if title else ""
    return Markup('<a href="#{}"{}>{}</a>').format(anchor, told, text)


def coded(text: str) -> Markup:
    """A paragraph, with what stands in backticks as code."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def marked(kind: str, text: str) -> Markup:
    """A text that has a colour beside what it says."""
    return Markup('<span class="{}">{}</span>').format(kind, text)
