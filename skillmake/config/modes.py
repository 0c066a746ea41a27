"""Parameters of the targets beside training (SPEC §8): infer, eval, diagnose, promote."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from skillmake.config.section import NAME, Section

VERSION = r"^(current|best|seed|epoch:\d+|[0-9a-f]+)$"


def _version(value: Any) -> Any:
    # Snakemake and YAML take 012345 and 12e4 for numbers, from which the digits cannot be had back
    if isinstance(value, (int, float)):
        raise ValueError("a digest of digits alone is read as a number: write version='\"012345\"'")
    if isinstance(value, str) and not re.match(VERSION, value):
        raise ValueError("expected best, seed, current, epoch:N, or a digest or the start of one")
    return value


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


SomeTexts = Annotated[tuple[str, ...] | None, BeforeValidator(_one_or_more)]


class Modes(Section):
    """What infer, eval, diagnose and promote work on; `--config version=best` sets modes.version."""

    version: Annotated[str | None, BeforeValidator(_version)] = Field(
        None,
        pattern=VERSION,
        description="infer, eval, promote: a digest or unique prefix, seed, best, current, or epoch:N; "
        "infer takes `current` without it.",
    )
    questions: str | None = Field(
        None, min_length=1, description="infer: questions as JSONL; their answers may be missing."
    )
    types: SomeTexts = Field(None, description="infer: only questions of these task types.")
    first: int | None = Field(
        None, ge=1, description="infer: only this many units, in the order of the file."
    )
    rollouts: SomeTexts = Field(
        None, description="diagnose: files of rollouts of the run; without it those of all its steps."
    )
    name: str | None = Field(
        None,
        pattern=NAME,
        description="promote: name of the new seed. infer: folder of the answers; without it the name of the "
        "question file.",
    )


# What each target reads; another target's parameter on the command line is a mistake
USED_BY = {
    "infer": ("version", "questions", "types", "first", "name"),
    "eval": ("version",),
    "diagnose": ("rollouts",),
    "promote": ("version", "name"),
}
