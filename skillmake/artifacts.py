"""Artefacts: models whose values do not change, and checked reads (DESIGN §2)."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from skillmake.errors import DataError
from skillmake.files import (
    STAMP_KEYS,
    canonical,
    canonical_line,
    digest,
    json_lines,
    read_json,
    sha256,
    write_jsonl,
    write_text,
)

__all__ = [
    "STAMP_KEYS",
    "Artifact",
    "Model",
    "canonical",
    "canonical_line",
    "digest",
    "json_lines",
    "read_json",
    "read_model",
    "sha256",
    "write_jsonl",
    "write_text",
]


class Artifact(BaseModel):
    """Base of everything that is written to a file: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def read_model(path: str | Path, model: type[Model]) -> Model:
    """Read an artefact of one kind, without its lineage stamp; raises DataError naming file and field."""
    value = read_json(path)
    if isinstance(value, dict):
        value = {key: part for key, part in value.items() if key not in STAMP_KEYS}
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise DataError(
            f"{path}: not a valid {model.__name__}: {place}: {first['msg']}",
            "the file was changed or made by another version: delete it and run again",
        ) from None
