"""The command that makes the report of a run."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the `skillmake` command line."""
    app.command()(report)


def report(
    run: Annotated[
        str | None, typer.Argument(help="Name or folder of the run; that of params.yaml without it.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The page; build/report/<run>.html if left out.")] = None,
) -> None:
    """Make the report of a run, finished or not, as one HTML file, with the time and money of its logs."""
    from skillmake.files import write_text
    from skillmake.report.page import report_html
    from skillmake.report.source import read_folder
    from skillmake.runs import find_run

    folder = find_run(run)
    page = report_html(read_folder(folder))
    target = out or Path("build") / "report" / f"{folder.resolve().name}.html"
    write_text(target, page)
    typer.echo(f"{target}: {len(page.encode()) / 1e6:.1f} MB; open it in a browser")
