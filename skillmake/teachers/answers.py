"""What a teacher model may answer: JSON schemas, and reading what really came (SPEC §5)."""

import json
from typing import Any

from pydantic import ValidationError

from skillmake.edits import Edit
from skillmake.questions import parse_json

EDITS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": ["add", "replace", "delete", "example"]},
                    **{
                        name: {"type": "string"} for name in ("anchor", "section", "text", "answer", "reason")
                    },
                    "support": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["op", "anchor", "section", "text", "answer", "reason", "support"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["edits"],
    "additionalProperties": False,
}


def parse_edits(answer: str) -> list[Edit]:
    """Edits of a teacher's JSON answer; ValueError with a short reason if it cannot be used."""
    edits = parse_object(answer).get("edits")
    if not isinstance(edits, list):
        raise ValueError('expected {"edits": [...]}')
    try:
        return [Edit.model_validate(edit) for edit in edits]
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"edit {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def parse_object(answer: str) -> dict[str, Any]:
    """The JSON object in a text, also behind a code fence; ValueError if there is none."""
    start, end = answer.find("{"), answer.rfind("}")
    if start < 0 or end < start:
        raise ValueError("there is no JSON object in it")
    try:
        value = parse_json(answer[start : end + 1])
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} at character {error.pos}") from None
    assert isinstance(value, dict)
    return value


REWRITE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"skill": {"type": "string"}},
    "required": ["skill"],
    "additionalProperties": False,
}
