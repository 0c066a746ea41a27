"""Tables for the terminal, the same text on every terminal."""

from collections.abc import Sequence
from io import StringIO

WIDTH = 110


def table_text(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A title line and a table; the first column is to the left, the others to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=not place)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out = StringIO()
    Console(file=out, width=WIDTH).print(table)
    return f"{title}\n{out.getvalue()}"


def share(value: float | None) -> str:
    """A share with three digits; `-` where there is none."""
    return "-" if value is None else f"{value:.3f}"


def number(value: float | None) -> str:
    """A mean count with one digit; `-` where there is none."""
    return "-" if value is None else f"{value:,.1f}"
