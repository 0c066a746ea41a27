"""The files that an environment's answers follow from; rules that run an agent depend on their digests."""

import ast
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from skillmake.artifacts import Artifact, sha256
from skillmake.imports import imported_names, module_files


class LookedUp(Artifact):
    """sha256 of each file that the answers of an agent with tools follow from."""

    digests: dict[str, str]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "LookedUp":
        return cls(digests={path.as_posix(): sha256(path.read_bytes()) for path in paths})


def looked_up_files(environment: str, videos: str) -> list[str]:
    """All files of the folder `videos`; of an environment of the user's own in this project its module and
    what that imports of the project.

    Empty for `qa`. Paths are relative to the project.
    """
    if environment == "qa":
        return []
    files = sorted(path.as_posix() for path in Path(videos).rglob("*") if path.is_file())
    return [*files, *_own_modules(environment)]


def _own_modules(environment: str) -> list[str]:
    module, _, factory = environment.partition(":")
    try:
        spec = find_spec(module) if factory else None
    except Exception:  # the user's package is run by this; the agent says what is wrong, with the parameter
        return []
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    if origin is None or not origin.is_relative_to(Path.cwd()):
        return []
    found: set[Path] = set()
    todo = [origin.relative_to(Path.cwd())]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _imported(path)
    return sorted(path.as_posix() for path in found)


def _imported(path: Path) -> Iterator[Path]:
    """Files of the project that a module imports; skillmake's own are part of each rule's code."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return  # the agent says so
    for name in imported_names(tree, path.parts):
        if name.partition(".")[0] != __package__.partition(".")[0]:
            yield from module_files(Path(), name)
