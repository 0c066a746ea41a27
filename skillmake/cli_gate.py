"""The commands that say what the gate can see and whether it is honest, before money is spent on training."""

from pathlib import Path
from typing import Annotated

import typer

from skillmake.config.load import load_config
from skillmake.config.models import Config

DEFAULT_PARAMS = Path("params.yaml")
ParamsFiles = Annotated[
    list[Path] | None,
    typer.Argument(help="Parameter files, the later on top of the earlier.", show_default="params.yaml"),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command()(plan)


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


def _config(files: list[Path] | None) -> Config:
    return load_config(*(files or [DEFAULT_PARAMS]))
