"""Rows of CSV, JSON and JSONL files, and what a value of an import mapping is in them."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jmespath

from skillmake.artifacts import canonical_line
from skillmake.errors import DataError
from skillmake.mapping import is_template, template_parts
from skillmake.questions import MOST_SHOWN, did_you_mean, parse_json


@dataclass(frozen=True)
class Row:
    """A row of a source; `number` counts from 1, after the header of a CSV file."""

    source: Path
    number: int
    cells: Mapping[str, Any]
    meta: Mapping[str, Any]

    @property
    def place(self) -> str:
        return f"{self.source.name} row {self.number}"


@dataclass
class Problems:
    """Problems of rows; the same problem in many rows of a source is shown once."""

    rows: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, row: Row, message: str) -> None:
        self.rows.setdefault((str(row.source), message), []).append(row.number)

    def stop_if_any(self) -> None:
        lines = []
        for (source, message), numbers in self.rows.items():
            more = f" (and {len(numbers) - 1} more rows)" if len(numbers) > 1 else ""
            lines.append(f"{source}: row {numbers[0]}{more}: {message}")
        if len(lines) > MOST_SHOWN:
            lines[MOST_SHOWN:] = [f"and {len(lines) - MOST_SHOWN} more"]
        if lines:
            raise DataError(
                "\n".join(lines), "correct the mapping or the source, or list ids to leave out under `skip`"
            )


def read_rows(
    path: Path,
    form: str,
    rows: str | None = None,
    delimiter: str = ",",
    meta: Mapping[str, str] | None = None,
) -> list[Row]:
    """The rows of one source of the format `form`; DataError when it cannot be read as such.

    rows, meta: JMESPaths into a JSON document, of the list of rows and of what each row is told about it.
    """
    found_meta: dict[str, Any] = {}
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if form == "csv":
            found: Any = _csv_rows(text, delimiter)
        elif form == "jsonl":
            found = [_json(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        else:
            document = parse_json(text)
            found = jmespath.search(rows, document) if rows else document
            found_meta = {name: jmespath.search(where, document) for name, where in (meta or {}).items()}
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}", "check the path of the source") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}", "save the file as UTF-8") from None
    except (ValueError, csv.Error) as error:
        keys = "`format`, `delimiter`" if form == "csv" else "`format`"
        raise DataError(f"{path}: not valid {form}: {error}", f"check {keys} and the file") from None
    if not isinstance(found, list) or not all(isinstance(cells, dict) for cells in found):
        what = f"`rows: {rows}`" if rows else "the source"
        raise DataError(f"{path}: {what} is not a list of objects", "`rows` is the path of the list")
    if not found:
        raise DataError(f"{path}: holds no row", "give a source with rows")
    return [Row(path, number, cells, found_meta) for number, cells in enumerate(found, 1)]


def _csv_rows(text: str, delimiter: str) -> list[dict[str, str]]:
    lines = [
        cells
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        if cells
    ]
    header = [name.strip() for name in lines[0]] if lines else []
    if len(set(header)) < len(header) or "" in header:
        raise ValueError(f"the header {', '.join(map(repr, header))} has an empty or a repeated name")
    for number, cells in enumerate(lines[1:], 1):
        if len(cells) != len(header):
            raise ValueError(f"row {number} has {len(cells)} cells, the header has {len(header)}")
    return [dict(zip(header, cells, strict=True)) for cells in lines[1:]]


def _json(line: str, number: int) -> Any:
    try:
        return parse_json(line)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


def look_up(value: str, row: Row, names: Mapping[str, Any]) -> Any:
    """What a value of the mapping (template, column or path) is in a row; ValueError if there is no such."""
    if is_template(value):
        return _rendered(value, row, {"row": row.number, "stem": row.source.stem, **names})
    if value in row.cells:
        return row.cells[value]
    try:
        found = jmespath.search(value, row.cells)
    except jmespath.exceptions.JMESPathError:
        found = None
    if found is None:
        known = ", ".join(row.cells)
        raise ValueError(f"no column `{value}`.{did_you_mean(value, row.cells)} There are: {known}")
    return found


def _rendered(template: str, row: Row, names: Mapping[str, Any]) -> str:
    out = ""
    for before, name, spec in template_parts(template):
        out += before
        if name is not None:
            part = names[name] if name in names else text_of(name, row, names)
            try:
                out += format(part, spec)
            except ValueError as error:
                raise ValueError(f"template {template!r}: `{name}` is {part!r}: {error}") from None
    return out


def text_of(value: str, row: Row, names: Mapping[str, Any]) -> str:
    return as_text(look_up(value, row, names), value)


def as_text(found: Any, name: str) -> str:
    if isinstance(found, (list, dict)):
        raise ValueError(f"`{name}` is a {type(found).__name__}, expected a text")
    text = found.strip() if isinstance(found, str) else "" if found is None else canonical_line(found)
    if not text:
        raise ValueError(f"`{name}` is empty")
    return text
