"""Import of rows that a test writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillmake.errors import DataError
from skillmake.importer import import_questions
from skillmake.mapping import parse_mapping
from skillmake.questions import Question

CSV = "text,label\nWhere is it?,lost_card\n  It is gone ,lost_card\nHow much?,card_fee\nHello,greeting\n"
CSV_MAPPING = {"format": "csv", "id": "{stem}-{row}", "question": "text", "answer": "label"}


def run(folder: Path, files: dict[str, Any], **mapping: Any) -> list[Question]:
    return say(folder, files, **mapping)[0]


def say(folder: Path, files: dict[str, Any], **mapping: Any) -> tuple[list[Question], list[str]]:
    """Import the files (all but TWINS.json) and what was said."""
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")
    said: list[str] = []
    sources = [folder / name for name in files if name != "TWINS.json"]
    return import_questions(sources, parse_mapping(mapping, "map.yaml"), said.append), said


def problem(folder: Path, files: dict[str, Any], **mapping: Any) -> str:
    with pytest.raises(DataError) as caught:
        run(folder, files, **mapping)
    return caught.value.message.replace(f"{folder}/", "")
