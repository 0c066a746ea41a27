"""The table `llm_calls`, from the logs of a run: it holds wall time, which no artefact may."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field, ValidationError

from skillmake.artifacts import json_lines
from skillmake.errors import DataError
from skillmake.tables.columns import Row, Step

# rule, epoch, step and slug of the type, as in the name of a job: `gate.01.003.billing`
JOB = re.compile(r"([a-z0-9_-]+)(?:\.(\d\d))?(?:\.(\d\d\d))?(?:\.([a-z0-9-]+))?")


class CallRow(Row):
    """One call, paid or answered by the cache, in the order in which each job logged its calls."""

    rule: str = Field(description="The rule, or the command, that asked.")
    epoch: int | None = Field(description="Epoch of the job, from 1; empty outside of epochs.")
    step: Step
    type_slug: str | None = Field(description="Slug of the task type, where the job belongs to one.")
    role: str = Field(description="`student`, `teacher`, `judge` or `vision`.")
    key: str = Field(description="Key of the call in the call cache.")
    cached: bool = Field(description="Answered by the call cache, at no cost.")
    retries: int = Field(description="Tries after the first one.")
    ended: float | None = Field(
        None, description="When the answer was there, in seconds since 1970; older logs do not say it."
    )
    seconds: float = Field(description="Latency with all retries, in seconds.")
    prompt_tokens: int | None = Field(description="Prompt tokens; empty after an error.")
    completion_tokens: int | None = Field(description="Answer tokens; empty after an error.")
    cost: float | None = Field(description="Money, by `models.*.price_in` and `price_out`; 0 if cached.")
    error: str = Field(description="Why the call failed for good; else empty.")


def call_rows(log_dir: Path) -> Iterator[CallRow]:
    """Rows of all call logs of a run, by name of the job; DataError naming the line that is not valid."""
    for path in sorted((log_dir / "calls").glob("*.jsonl")):
        found = JOB.fullmatch(path.stem)
        rule, epoch, step, type_slug = found.groups() if found else (path.stem, None, None, None)
        for number, line in enumerate(json_lines(path.read_text(encoding="utf-8")), 1):
            try:
                value = json.loads(line)
                yield CallRow(
                    rule=rule,
                    epoch=int(epoch) if epoch else None,
                    step=int(step) if step else None,
                    type_slug=type_slug,
                    retries=max(0, value.pop("tries") - 1),
                    **{"prompt_tokens": None, "completion_tokens": None, "cost": None, "error": "", **value},
                )
            except (ValueError, KeyError, TypeError, ValidationError):
                raise DataError(
                    f"{path}:{number}: not a line of a call log",
                    "delete the line: a run that was killed may leave half of one, and logs decide nothing",
                ) from None
