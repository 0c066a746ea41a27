"""Tables for the terminal, the same text on every terminal."""

from collections.abc import Sequence
from io import StringIO
from typing import Any, Literal

WIDTH = 110


def table_text(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A title line and a table; the first `left` columns are to the left, the others to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for place, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if place >= left else "left"
        table.add_column(column, justify=justify, no_wrap=not place, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return f"{title}\n{rendered(table)}"


def rendered(part: Any) -> str:
    """A rich renderable as plain text of WIDTH, without colours wherever it goes."""
    from rich.console import Console

    out = StringIO()
    Console(file=out, width=WIDTH, color_system=None).print(part)
    return out.getvalue()


def share(value: float | None) -> str:
    """A share with three digits; `-` where there is none."""
    return "-" if value is None else f"{value:.3f}"


def number(value: float | None) -> str:
    """A mean count with one digit; `-` where there is none."""
    return "-" if value is None else f"{value:,.1f}"
