"""Commands for Agent Skills: check a folder of them, take them as a seed, give a trained version out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillmake.cli_lineage import VERSION, RunOption

if TYPE_CHECKING:
    from skillmake.skillfolders import SkillFolder

app = typer.Typer(no_args_is_help=True, help="Agent Skills in and out: check, import, export.")
Folder = Annotated[Path, typer.Argument(help="Folder with <name>/SKILL.md, or the folder of one skill.")]
Out = Annotated[Path, typer.Option(help="Folder in which each skill becomes <name>/.")]


def register(to: typer.Typer) -> None:
    """Add `skills` to the command line."""
    to.add_typer(app, name="skills")


@app.command()
def check(folder: Folder) -> None:
    """Check skills against the Agent Skills format; an error is exit code 1, a warning is not."""
    skills = _checked(folder)
    typer.echo(f"{folder}: {_count(skills)}, valid")


@app.command("import")
def import_command(
    folder: Folder,
    out: Out,
    questions: Annotated[
        Path | None, typer.Option(help="Questions as JSONL: say which skill serves which task type.")
    ] = None,
) -> None:
    """Copy checked skills to a folder for `data.skills`, with all their files, byte for byte."""
    from skillmake.skillfolders import write_skills

    skills = _checked(folder)
    told = _mapping(skills, questions) if questions else []
    new = write_skills(skills, out)
    files = sum(1 + len(skill.further) for skill in skills)
    there = f", {len(skills) - len(new)} of them were there" if len(new) < len(skills) else ""
    typer.echo(f"{_count(skills)} with {files} file{'s' if files > 1 else ''} in {out}{there}")
    for line in told:
        typer.echo(line)


@app.command()
def export(
    out: Out,
    version: Annotated[str, typer.Argument(help=f"The version: {VERSION}.")] = "best",
    run: RunOption = None,
    files: Annotated[
        Path | None, typer.Option(help="Seed skills with the further files; those of the run without it.")
    ] = None,
) -> None:
    """Write the skills of a version as Agent Skills, with the further files of the seed skills."""
    from skillmake.config.load import load_config
    from skillmake.history import read_history
    from skillmake.runs import find_run
    from skillmake.skillfolders import version_skills, write_skills
    from skillmake.structure import seed_skills

    run_dir = find_run(run)
    history = read_history(run_dir)
    files_in = files or seed_skills(run_dir) or Path(load_config("params.yaml").data.skills)
    skills = version_skills(history, version, files_in)
    write_skills(skills, out)
    further = sum(len(skill.further) for skill in skills)
    typer.echo(f"version {version} of run {history.run}: {_count(skills)} in {out}")
    typer.echo(f"{further} further files from {files_in}")


def _checked(folder: Path) -> "list[SkillFolder]":
    from skillmake.skillfolders import read_skills, refuse_errors

    skills, problems = read_skills(folder)
    for problem in problems:
        if not problem.is_error:
            typer.echo(str(problem))
    refuse_errors(str(folder), problems, "see agentskills.io/specification")
    return skills


def _count(skills: "list[SkillFolder]") -> str:
    return f"{len(skills)} skill{'s' if len(skills) > 1 else ''}"


def _mapping(skills: "list[SkillFolder]", questions: Path) -> list[str]:
    from skillmake.questions import load_questions, slug
    from skillmake.skillfolders import serving

    task_types = sorted({question.task_type for question in load_questions(questions)})
    served, missing = serving(skills, task_types)
    lines = [f"  {task_type}: {name}" for task_type, name in served.items()]
    lines += [
        f"  {task_type}: none; add {slug(task_type)}/SKILL.md or default-strategy/SKILL.md"
        for task_type in missing
    ]
    idle = sorted({skill.name for skill in skills} - set(served.values()))
    return [*lines, f"  no task type uses: {', '.join(idle)}"] if idle else lines
