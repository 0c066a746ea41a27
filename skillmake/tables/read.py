"""Tables on disk: gathered in one folder, and read back with their types."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillmake.artifacts import json_lines, write_text
from skillmake.errors import DataError
from skillmake.runs import artefact_files
from skillmake.tables.calls import call_rows
from skillmake.tables.catalog import ROWS, about, dtypes, jsonl, make_tables, may_miss
from skillmake.tables.places import CALLS, TABLES
from skillmake.tables.record import read_record

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Gathered:
    """A table that was written."""

    name: str
    path: Path
    rows: int
    columns: int
    about: str


def gather(run_dir: Path, out: Path, *, as_csv: bool = False) -> list[Gathered]:
    """Write every table of a run to `out`; those that the run has not made yet are made from what it has."""
    made = run_dir / "tables"
    if all((made / f"{name}.jsonl").is_file() for name in TABLES):
        texts = {name: (made / f"{name}.jsonl").read_text(encoding="utf-8") for name in TABLES}
    else:
        record = read_record(artefact_files(run_dir))
        texts = {name: jsonl(rows) for name, rows in make_tables(record, None).items()}
    texts[CALLS] = jsonl(call_rows(run_dir / "log"))
    return [_write(name, texts[name], out, as_csv) for name in ROWS]


def read_table(path: str | Path) -> "pd.DataFrame":
    """A table, .jsonl or .csv, with a type for every column, also when it has no rows.

    The file's name says which table it is; raises DataError when it is none.
    """
    import pandas as pd

    file = Path(path)
    if file.stem not in ROWS or file.suffix not in (".jsonl", ".csv"):
        raise DataError(f"{path}: not a table", f"tables: {', '.join(ROWS)}, as .jsonl or .csv")
    types = dtypes(ROWS[file.stem])
    if file.suffix == ".csv":
        missing = {column: [""] for column in types if may_miss(ROWS[file.stem], column)}
        return pd.read_csv(file, dtype=types, keep_default_na=False, na_values=missing)
    rows = [json.loads(line) for line in json_lines(file.read_text(encoding="utf-8"))]
    return pd.DataFrame(rows, columns=list(types)).astype(types)


def _write(name: str, text: str, out: Path, as_csv: bool) -> Gathered:
    rows = [json.loads(line) for line in json_lines(text)]
    columns = list(ROWS[name].model_fields)
    path = out / f"{name}.{'csv' if as_csv else 'jsonl'}"
    write_text(path, _csv(columns, rows) if as_csv else text)
    return Gathered(name, path, len(rows), len(columns), about(ROWS[name]))


def _csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    out = StringIO()
    # All texts are quoted: unquoted, a carriage return would end the line for a reader
    writer = csv.DictWriter(out, columns, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
