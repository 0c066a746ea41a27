"""The commands that say what the gate can see and whether it is honest, before money is spent on training."""

from pathlib import Path
from typing import Annotated

import typer

from skillmake.artifacts import canonical, write_text
from skillmake.config.load import load_config
from skillmake.config.models import Config
from skillmake.errors import DataError

DEFAULT_PARAMS = Path("params.yaml")
ParamsFiles = Annotated[
    list[Path] | None,
    typer.Argument(help="Parameter files, the later on top of the earlier.", show_default="params.yaml"),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command()(plan)
    app.command("aa-test")(aa_test_command)


def plan(
    params: ParamsFiles = None,
    accuracy: Annotated[float, typer.Option(help="Share of units right with the seed texts.")] = 0.5,
    churn: Annotated[
        float, typer.Option(help="Share of units whose outcome differs between equally good texts.")
    ] = 0.05,
    power: Annotated[
        float, typer.Option(help="Probability with which a good candidate is to be accepted.")
    ] = 0.8,
) -> None:
    """Say what the gate can see of each task type and what the run may cost, before money is spent."""
    from skillmake.plan_text import plan_text
    from skillmake.planning import Assumed
    from skillmake.start import Start

    assumed = Assumed(accuracy, churn, power)
    typer.echo(plan_text(Start.of(_config(params)), assumed), nl=False)


def aa_test_command(
    params: ParamsFiles = None,
    draws: Annotated[int, typer.Option(help="How often each validation unit is asked.")] = 2,
    repeats: Annotated[int, typer.Option(help="No-ops sent through the gate, per task type.")] = 500,
    out: Annotated[Path | None, typer.Option(help="Where the numbers go, as JSON.")] = None,
) -> None:
    """Send the seed texts through the gate as their own candidate: how often is it fooled?"""
    from skillmake.aa import aa_test, aa_text
    from skillmake.agent.factory import open_student
    from skillmake.start import Start

    start = Start.of(_config(params))
    with open_student(
        start.config, cache_dir=start.cache_dir, log_dir=start.log_dir, log_name="aa-test"
    ) as agent:
        found = aa_test(start, agent, draws, repeats)
    if out is not None:
        _write(out, canonical(found))
    typer.echo(aa_text(found), nl=False)


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}", "see --out") from None


def _config(files: list[Path] | None) -> Config:
    return load_config(*(files or [DEFAULT_PARAMS]))
