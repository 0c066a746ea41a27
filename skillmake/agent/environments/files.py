"""The files that an environment's answers follow from; rules that run an agent depend on their digests."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from skillmake.artifacts import Artifact, sha256


class LookedUp(Artifact):
    """sha256 of each file that the answers of an agent with tools follow from."""

    digests: dict[str, str]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "LookedUp":
        return cls(digests={path.as_posix(): sha256(path.read_bytes()) for path in paths})


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
    except Exception:  # the user's package is run by this; the agent says what is wrong, with the parameter
        return []
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    if origin is None or not origin.is_relative_to(Path.cwd()):
        return []
    return [origin.relative_to(Path.cwd()).as_posix()]
