"""All lines of the doctor, in the order in which they are found."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from skillmake.config.load import load_config
from skillmake.config.models import Config
from skillmake.doctor.data import data_lines
from skillmake.doctor.lines import Line
from skillmake.doctor.machine import dvc_line, git_line, package_lines, place_lines, python_line
from skillmake.doctor.models import model_lines, roles
from skillmake.errors import SkillmakeError


def examine(files: Sequence[Path]) -> Iterator[Line]:
    """Lines for the parameters in `files`; where these are broken, those that need none."""
    config: Config | SkillmakeError
    try:
        config = load_config(*files)
    except SkillmakeError as error:
        config = error
    yield python_line()
    yield from package_lines(() if isinstance(config, SkillmakeError) else _extras(config))
    yield from place_lines()
    yield git_line()
    yield dvc_line()
    if isinstance(config, SkillmakeError):
        todo = config.hint or "correct or name another file; `skillmake params --yaml` prints a whole one"
        yield Line("fail", "parameters", config.message, todo)
        return
    yield Line("ok", "parameters", f"valid: {' + '.join(map(str, files))}")
    yield from data_lines(config)
    yield from model_lines(config)


def _extras(config: Config) -> tuple[str, ...]:
    used = [getattr(config.models, role).provider for role, unused in roles(config).items() if not unused]
    return ("local",) if "local" in used else ()
