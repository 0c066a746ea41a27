"""The command that says what is missing before a run, and what to do about it."""

from collections import Counter

import typer

from skillmake.cli_gate import DEFAULT_PARAMS, ParamsFiles

COLOURS = {"ok": None, "warn": "magenta", "fail": "red"}  # which can be read on light and dark ground


def register(app: typer.Typer) -> None:
    """Add `doctor` to the command line."""
    app.command()(doctor)


def doctor(params: ParamsFiles = None) -> None:
    """Check machine, parameters, data and models (by a few tiny requests); exit code 1 if a line fails."""
    from skillmake.doctor.examine import examine

    counts: Counter[str] = Counter()
    for line in examine(params or [DEFAULT_PARAMS]):
        counts[line.level] += 1
        text = str(line)
        mark = typer.style(line.level, fg=COLOURS[line.level], bold=line.level != "ok")
        typer.echo(mark + text[len(line.level) :])
    typer.echo(f"{counts['fail']} fail, {counts['warn']} warn, {counts['ok']} ok")
    if counts["fail"]:
        raise typer.Exit(1)
