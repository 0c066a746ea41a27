"""The base of all rows, and the columns that many tables share.

No name ends in `_at` or `_time`: pandas would read such a column as dates.
"""

from typing import Annotated, Literal

from pydantic import Field

from skillmake.artifacts import Artifact


class Row(Artifact):
    """One line of a table; each field is a column, its description stands in docs/tables.md."""


Epoch = Annotated[int, Field(description="Epoch, from 1; 0 lies before the first one.")]
Step = Annotated[int | None, Field(description="Step in its epoch, from 1; empty outside of steps.")]
TaskType = Annotated[str, Field(description="Task type.")]
AnyType = Annotated[str | None, Field(description="Task type; empty in the row of all types together.")]
UnitId = Annotated[str, Field(description="Unit: a question, or a twin pair.")]
Skills = Annotated[str, Field(description="Digest of the skills.")]
Prompts = Annotated[str, Field(description="Digest of the prompts.")]
Units = Annotated[int, Field(description="Units with an outcome.")]

Change = Literal["improved", "regressed", "persistent_fail", "stable_success", "error"]
