"""All tables: their row models, the rows of a run, and the data dictionary."""

from collections.abc import Iterable, Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from skillmake.artifacts import canonical_line
from skillmake.rehearsal.world import World
from skillmake.tables.calls import CallRow
from skillmake.tables.columns import Row
from skillmake.tables.epochs import (
    DualMetricRow,
    EpochRow,
    HoldoutRow,
    dual_metric_rows,
    epoch_rows,
    holdout_rows,
)
from skillmake.tables.gates import GateEvidenceRow, StepReportRow, gate_evidence_rows, step_report_rows
from skillmake.tables.pairs import QuadrantRow, quadrant_rows
from skillmake.tables.places import CALLS, TABLES
from skillmake.tables.record import RunRecord
from skillmake.tables.rollouts import PredictionRow, TraceRow, prediction_rows, trace_rows
from skillmake.tables.shadow import ShadowGateRow, shadow_gate_rows

ROWS: dict[str, type[Row]] = {
    "predictions": PredictionRow,
    "traces": TraceRow,
    "step_report": StepReportRow,
    "gate_evidence": GateEvidenceRow,
    "quadrant_pairs": QuadrantRow,
    "dual_metric": DualMetricRow,
    "shadow_gate": ShadowGateRow,
    "holdout_eval": HoldoutRow,
    "epoch_report": EpochRow,
    CALLS: CallRow,
}
DTYPES = {str: "string", int: "Int64", float: "Float64", bool: "boolean"}  # of pandas, with missing values
WORDS = {"string": "text", "Int64": "integer", "Float64": "number", "boolean": "true or false"}
HEAD = """\
# Tables of a run

Generated: `skillmake tables --doc > docs/tables.md`.

The rule `tables` writes them to `runs/<run>/tables/`, one JSON object per line, in order of time.
`skillmake tables RUN` gathers them in one folder, with `llm_calls`, which comes from the run's logs; `--csv`
writes CSV. It also works while a run is not finished, on the steps and epochs that are. Of a run that had
finished and is made again, it gives the tables of that finish until the next one.
pandas reads each in one call:

```python
pd.read_json("runs/main/tables/shadow_gate.jsonl", lines=True, dtype_backend="numpy_nullable")
pd.read_csv("build/tables/main/shadow_gate.csv")
```

`skillmake.tables.read.read_table(path)` reads both kinds with exactly the types below, and gives a table
without rows its columns, which a JSONL file without lines cannot. Empty stands for a missing value. A plain
`pd.read_csv` guesses types: it takes ids of digits for numbers, and answers such as `None` for missing.
"""


def make_tables(record: RunRecord, world: World | None) -> dict[str, list[Row]]:
    """Rows of every table but `llm_calls`, in order of time; `world` where the run is a rehearsal's."""
    made: tuple[Iterable[Row], ...] = (
        *(prediction_rows(record), trace_rows(record), step_report_rows(record)),
        *(gate_evidence_rows(record), quadrant_rows(record), dual_metric_rows(record)),
        *(shadow_gate_rows(record, world), holdout_rows(record), epoch_rows(record)),
    )
    return {name: list(rows) for name, rows in zip(TABLES, made, strict=True)}


def jsonl(rows: Iterable[Row]) -> str:
    """One canonical line per row."""
    return "".join(canonical_line(row) + "\n" for row in rows)


def dtypes(model: type[Row]) -> dict[str, str]:
    """The pandas type of each column, in the order of the columns."""
    return {name: _dtype(field.annotation) for name, field in model.model_fields.items()}


def may_miss(model: type[Row], column: str) -> bool:
    """Whether a column may hold no value."""
    return type(None) in _parts(model.model_fields[column].annotation)


def dictionary() -> str:
    """The data dictionary, as Markdown."""
    return HEAD + "".join(f"\n{line}" for name in ROWS for line in _section(name)) + "\n"


def about(model: type[Row]) -> str:
    """What a row of the table is, in one line."""
    return _lines(model)[0]


def _section(name: str) -> Iterator[str]:
    model = ROWS[name]
    yield f"## {name}"
    yield ""
    for line in _lines(model):
        yield line
        yield ""
    yield "| column | type | meaning |"
    yield "| --- | --- | --- |"
    for column, field in model.model_fields.items():
        optional = " or empty" if may_miss(model, column) else ""
        yield f"| `{column}` | {WORDS[_dtype(field.annotation)]}{optional} | {field.description} |"
    yield ""


def _lines(model: type[Row]) -> list[str]:
    """The paragraphs of a model's docstring."""
    return [" ".join(part.split()) for part in (model.__doc__ or "").split("\n\n")]


def _dtype(annotation: Any) -> str:
    kinds = {type(part) if not isinstance(part, type) else part for part in _parts(annotation)}
    (kind,) = kinds - {type(None)}
    return DTYPES[kind]


def _parts(annotation: Any) -> Sequence[Any]:
    """Types, or values of a Literal, that a column may hold; None as its type."""
    if get_origin(annotation) is Annotated:
        return _parts(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [part for each in get_args(annotation) for part in _parts(each)]
    return get_args(annotation) if get_origin(annotation) is Literal else [annotation]
