"""A line of the doctor: what was looked at, how it is, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

from skillmake.errors import SkillmakeError

Level = Literal["ok", "warn", "fail"]
WHAT_WIDTH = 27


@dataclass(frozen=True)
class Line:
    """`todo` is empty where there is nothing to do."""

    level: Level
    what: str
    found: str
    todo: str = ""

    def __str__(self) -> str:
        first, *more = self.found.splitlines() or [""]
        margin = " " * (6 + WHAT_WIDTH)
        lines = [f"{self.level:<6}{self.what:<{WHAT_WIDTH}}{first}", *(f"{margin}{line}" for line in more)]
        return "\n".join([*lines, f"{margin}→ {self.todo}"] if self.todo else lines)


def trouble(what: str, error: SkillmakeError, section: str) -> Line:
    """The line of a problem that was raised; without a hint of its own it leads to its parameters."""
    return Line("fail", what, error.message, error.hint or f"correct `{section}` in the parameters")
