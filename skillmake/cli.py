"""The `skillmake` command line."""

import json
from pathlib import Path
from typing import Annotated

import typer

from skillmake import (
    cli_doctor,
    cli_gate,
    cli_lineage,
    cli_report,
    cli_skills,
    cli_tables,
    cli_tree,
    cli_watch,
)
from skillmake.artifacts import read_json
from skillmake.config.document import params_yaml, schema_json
from skillmake.config.load import describe, load_config
from skillmake.errors import DataError, SkillmakeError
from skillmake.questions import dump_questions, load_questions

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False, help=__doc__)


@app.command("import")
def import_command(
    mapping: Annotated[Path, typer.Argument(help="Mapping file, as in configs/import/.")],
    sources: Annotated[list[Path], typer.Argument(help="CSV, JSON or JSONL files.")],
    out: Annotated[Path, typer.Option(help="Where the questions go, as JSONL.")],
) -> None:
    """Turn CSV, JSON or JSONL into questions."""
    from skillmake.importer import import_questions
    from skillmake.mapping import load_mapping

    questions = import_questions(sources, load_mapping(mapping))
    dump_questions(out, questions)
    types = sorted({question.task_type for question in questions})
    typer.echo(f"{len(questions)} questions of {len(types)} types in {out}: {', '.join(types)}")


@app.command()
def check(questions: Annotated[Path, typer.Argument(help="Questions as JSONL.")]) -> None:
    """Validate a question file; every problem is named with its line."""
    found = load_questions(questions)
    typer.echo(f"{len(found)} questions, {len({q.unit_id for q in found})} units: all valid")


@app.command()
def params(
    files: Annotated[list[Path] | None, typer.Argument(help="Parameter files to validate instead.")] = None,
    yaml: Annotated[bool, typer.Option("--yaml", help="Print the default params.yaml.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema.")] = False,
) -> None:
    """List every parameter with its default, bounds and meaning, or validate parameter files."""
    if files:
        load_config(*files)
        typer.echo("valid")
    elif yaml or schema:
        typer.echo(params_yaml() if yaml else schema_json(), nl=False)
    else:
        for path, default, allowed, about in describe():
            typer.echo(f"{path} = {json.dumps(default, default=str)}   ({allowed})\n    {about}")


@app.command()
def result(
    metrics: Annotated[Path, typer.Argument(help="metrics.json of a run.")] = Path("metrics.json"),
) -> None:
    """Show the result of a run."""
    from skillmake.result import result_text

    value = read_json(metrics)
    try:
        typer.echo(result_text(value), nl=False)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise DataError(f"{metrics}: not the metrics of a run", "run `snakemake --cores 8` first") from None


cli_tree.register(app)
cli_doctor.register(app)
cli_gate.register(app)
cli_lineage.register(app)
cli_tables.register(app)
cli_report.register(app)
cli_skills.register(app)
cli_watch.register(app)


def main() -> None:
    """Run the command line; a problem the user can solve is one message and exit code 1."""
    try:
        app()
    except SkillmakeError as error:
        typer.echo(f"skillmake: {error}", err=True)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
