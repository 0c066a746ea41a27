"""The files that an environment's answers follow from, as inputs of the rules that run an agent."""

from importlib.util import find_spec
from pathlib import Path


def looked_up_files(environment: str, videos: str) -> list[str]:
    """All files of the folder `videos`, and the module of an environment of the user's own in this project.

    Empty for `qa`. Paths are relative to the project.
    """
    if environment == "qa":
        return []
    files = sorted(path.as_posix() for path in Path(videos).rglob("*") if path.is_file())
    return [*files, *_own_module(environment)]


def _own_module(environment: str) -> list[str]:
    module, _, factory = environment.partition(":")
    try:
        spec = find_spec(module) if factory else None
    except ModuleNotFoundError:
        return []  # the agent says so, with the name of the parameter
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    if origin is None or not origin.is_relative_to(Path.cwd()):
        return []
    return [origin.relative_to(Path.cwd()).as_posix()]
