"""Commands that explain a run: verify, lineage, blame, diff."""

from typing import Annotated

import typer

RunOption = Annotated[
    str | None, typer.Option("--run", help="Name or folder of the run; that of params.yaml without it.")
]
VERSION = "a digest or unique prefix, seed, best, or epoch:N"


def register(app: typer.Typer) -> None:
    """Add the commands to the `skillmake` command line."""
    for command in (lineage,):
        app.command()(command)


def lineage(
    version: Annotated[str, typer.Argument(help=f"The version: {VERSION}.")], run: RunOption = None
) -> None:
    """Show the ancestors of a version, with gate evidence and validation accuracy."""
    from skillmake.history import read_history
    from skillmake.lineage import find_version, lineage_text, one_kind
    from skillmake.runs import find_run
    from skillmake.terminal import output_width

    history = read_history(find_run(run))
    kind, digest = one_kind(find_version(history, version))
    typer.echo(lineage_text(history, kind, digest, output_width()), nl=False)
