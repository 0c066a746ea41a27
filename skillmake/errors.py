"""Errors that a user can act on: one message line, and what to do about it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SkillmakeError(Exception):
    """A problem to be shown without a traceback.

    `message` says what is wrong and where (file, line, id); `hint` says what to do.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.hint}" if self.hint else self.message


class ConfigError(SkillmakeError):
    """A parameter is unknown, out of bounds or contradicts another one."""


class DataError(SkillmakeError):
    """Questions, skills, prompts or an artefact cannot be read as what they should be."""


class StorageError(SkillmakeError):
    """A file cannot be written: the disk is full, a quota is used up, the folder is read-only."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(
            f"{path}: cannot be written: {error.strerror}",
            "make room or give access, and run the same command: it continues where it stopped",
        )


class EndpointError(SkillmakeError):
    """The model endpoint cannot be used: wrong key, wrong model, unreachable."""


class TrainingAborted(SkillmakeError):  # noqa: N818 - a stop, not a failure
    """Going on would train on degraded signal or pass a hard cap."""


def notice(text: str) -> None:
    """A line on the terminal about something that was wrong and has been dealt with."""
    print(text, flush=True)


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn an OSError of a write to `path` into a StorageError."""
    try:
        yield
    except OSError as error:
        raise StorageError(path, error) from None
