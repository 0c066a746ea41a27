"""What the sections of a parameter file have in common."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"  # of a folder


def _not_the_archive(value: str) -> str:
    if value == "archive":
        raise ValueError("runs/archive holds the archived runs")
    return value


RunName = Annotated[str, StringConstraints(pattern=NAME), AfterValidator(_not_the_archive)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
