"""Errors that a user can act on: one message line, and what to do about it."""


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


class EndpointError(SkillmakeError):
    """The model endpoint cannot be used: wrong key, wrong model, unreachable."""


class TrainingAborted(SkillmakeError):  # noqa: N818 - a stop, not a failure
    """Going on would train on degraded signal or pass a hard cap."""
