"""Commands that explain a run (verify, lineage, blame, diff) and the one that puts it away (archive)."""

from pathlib import Path
from typing import Annotated

import typer

RunOption = Annotated[
    str | None, typer.Option("--run", help="Name or folder of the run; that of params.yaml without it.")
]
VERSION = "a digest or unique prefix, seed, best, or epoch:N"


def register(app: typer.Typer) -> None:
    """Add the commands to the `skillmake` command line."""
    for command in (verify, lineage, blame, diff, archive):
        app.command()(command)


def verify(run: Annotated[str, typer.Argument(help="Name or folder of the run.")]) -> None:
    """Check every digest of a run; a file that is not what it was is named, with exit code 1."""
    from skillmake.errors import DataError
    from skillmake.runs import find_run
    from skillmake.verify import verify as verify_run

    folder = find_run(run)
    report = verify_run(folder)
    for count, what in report.checked:
        typer.echo(f"{count:>8,}  {what}")
    names = f": {', '.join(report.unvouched)}" if report.unvouched else ""
    typer.echo(f"{len(report.unvouched):>8,}  artefacts that nothing vouches for{names}")
    for name in report.outdated:
        typer.echo(f"outdated: {name} was made from files that have changed since; run its target again")
    if report.mismatches:
        count = len(report.mismatches)
        raise DataError(
            f"{folder}: {count} mismatch{'es' if count > 1 else ''}\n"
            + "\n".join(f"  {mismatch}" for mismatch in report.mismatches),
            "delete what was changed and run `snakemake --cores 8` again",
        )
    typer.echo(f"{folder}: all digests agree")


def lineage(
    version: Annotated[str, typer.Argument(help=f"The version: {VERSION}.")], run: RunOption = None
) -> None:
    """Show the ancestors of a version, with gate evidence and validation accuracy."""
    from skillmake.history import read_history
    from skillmake.lineage import find_version, lineage_text, one_kind
    from skillmake.runs import find_run
    from skillmake.seeds import origin_text

    folder = find_run(run)
    history = read_history(folder)
    kind, digest = one_kind(find_version(history, version))
    typer.echo(lineage_text(history, kind, digest) + origin_text(folder, kind), nl=False)


def blame(
    file: Annotated[Path, typer.Argument(help="A delivered SKILL.md, or a file of a version.")],
    run: RunOption = None,
    calls: Annotated[bool, typer.Option("--calls", help="Show the key of every call in full.")] = False,
) -> None:
    """Show for each line of a skill the edit, step, cases, gate evidence and calls behind it."""
    from skillmake.blame import blame_file
    from skillmake.blame_text import blame_text
    from skillmake.history import read_history
    from skillmake.runs import find_run, read_text, run_of

    text = read_text(file)
    own_run = run_of(file) if run is None else None
    history = read_history(own_run or find_run(run))
    typer.echo(blame_text(history, blame_file(history, file, text), all_calls=calls), nl=False)


def diff(
    one: Annotated[str, typer.Argument(metavar="A", help=f"The older version: {VERSION}.")],
    other: Annotated[str, typer.Argument(metavar="B", help="The newer version.")],
    run: RunOption = None,
    unified: Annotated[bool, typer.Option("--unified", help="One text with + and - lines.")] = False,
) -> None:
    """Show two versions side by side, with the validation accuracy of both."""
    from skillmake.compare import compare_text
    from skillmake.history import read_history
    from skillmake.runs import find_run

    history = read_history(find_run(run))
    typer.echo(compare_text(history, one, other, unified=unified), nl=False)


def archive(run: Annotated[str, typer.Argument(help="Name or folder of the run.")]) -> None:
    """Move a run to runs/archive, so that the next training with its name starts afresh."""
    from skillmake.archive import archive as archive_run

    typer.echo(f"{run} is now {archive_run(run)}")
