"""The command that gathers the tables of a run."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the `skillmake` command line."""
    app.command()(tables)


def tables(
    run: Annotated[
        str | None, typer.Argument(help="Name or folder of the run; that of params.yaml without it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables; build/tables/<run> if left out.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of JSONL.")] = False,
    doc: Annotated[bool, typer.Option("--doc", help="Print the data dictionary instead.")] = False,
) -> None:
    """Gather the tables of a run in one folder: what was observed, unit by unit and call by call."""
    from skillmake.runs import find_run
    from skillmake.tables.catalog import dictionary
    from skillmake.tables.read import gather

    if doc:
        typer.echo(dictionary(), nl=False)
        return
    folder = find_run(run)
    target = out or Path("build") / "tables" / folder.name
    for table in gather(folder, target, as_csv=csv):
        typer.echo(f"{table.name:<15} {table.rows:>7,} rows {table.columns:>3} columns  {table.about}")
    typer.echo(f"in {target}; every column: docs/tables.md, `skillmake tables --doc`")
