"""The command that shows a run while it trains."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from skillmake.cli_gate import DEFAULT_PARAMS
from skillmake.runs import RUNS


def register(app: typer.Typer) -> None:
    """Add `watch` to the command line."""
    app.command()(watch)


def watch(
    run: Annotated[
        str | None,
        typer.Argument(help="Name or folder of the run; the one that was started last without it."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print one picture as plain text, also where this is no terminal.")
    ] = False,
    svg: Annotated[Path | None, typer.Option(help="Save one picture as an SVG file instead.")] = None,
    width: Annotated[
        int | None, typer.Option(min=40, max=300, help="Columns; those of the terminal without it.")
    ] = None,
) -> None:
    """Show a run while it trains, from its files alone, on any machine that sees them; Ctrl-C ends it."""
    from rich.console import Console

    from skillmake.terminal import WIDTH
    from skillmake.watch import live

    run_dir = live.run_dir_of(run, DEFAULT_PARAMS, Path(RUNS))
    if svg is not None:
        live.save_svg(run_dir, svg, width or WIDTH)
    elif once or not sys.stdout.isatty():
        live.once(run_dir, sys.stdout, width or WIDTH)
    elif live.watch(run_dir, Console(width=width)).status in ("failed", "stopped"):
        raise typer.Exit(1)
