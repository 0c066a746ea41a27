"""Text for the terminal that reads the same in a pipe: no colours, and a width of its own there."""

import sys
from io import StringIO
from shutil import get_terminal_size
from typing import Any

PIPED_WIDTH = 110


def output_width() -> int:
    """Characters per line: the terminal's, or PIPED_WIDTH when the output goes anywhere else."""
    return get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH


def rendered(part: Any, width: int) -> str:
    """A rich renderable as plain text; nothing in it is read as markup."""
    from rich.console import Console

    out = StringIO()
    Console(
        file=out,
        width=width,
        color_system=None,
        force_terminal=False,
        markup=False,
        emoji=False,
        highlight=False,
    ).print(part)
    return out.getvalue()
