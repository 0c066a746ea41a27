"""Full validations: the curve over the epochs, and each task type in each version."""

from collections.abc import Iterator, Sequence

from skillmake.report.charts import validation_chart
from skillmake.report.parts import NONE, Cell, Figure, Grid, Section, Table, count, marked, share
from skillmake.report.source import Source
from skillmake.tables.epochs import DualMetricRow

VERSIONS = {"seed": "seed", "final": "R", "slow_candidate": "R2"}
COLUMNS = ("version", "accuracy", "soft", "mixed", "units", "skills", "prompts", "what became of it")
SHADES = 10  # of the colour scale, from 0 to 10


def validation(source: Source) -> Section:
    """Curve, table of versions, heatmap of types."""
    rows = [row for row in source.tables.scores if row.task_type is None]
    best = _best(source)
    values = [
        {
            "epoch": row.epoch,
            "accuracy": row.hard,
            "version": VERSIONS[row.version],
            "is_best": row is best,
        }
        for row in rows
    ]
    figure = Figure(
        validation_chart(values), "Accuracy on full validation by epoch; the table below has the numbers."
    )
    words = (
        "R is the full validation of an epoch's last version, R2 the one with new prompts, which are "
        "reverted when it is lower. Epoch 0 is the seed. The best version is what is delivered."
    )
    table = Table(
        "Validated versions",
        COLUMNS,
        [_row(source, row, row is best) for row in rows],
        frozenset(COLUMNS[1:5]),
    )
    return Section("validation", "Validation", [words, figure, table, heatmap(source)])


def _best(source: Source) -> DualMetricRow | None:
    """The row of the best version so far: the first with its digests in its epoch."""
    best = None if source.best is None else source.best.best
    for row in source.tables.scores:
        if (
            best is not None
            and row.task_type is None
            and (row.epoch, row.skills, row.prompts) == (best.epoch, best.skills, best.prompts)
        ):
            return row
    return None


def _name(row: DualMetricRow) -> str:
    return "seed" if row.version == "seed" else f"epoch {row.epoch} {VERSIONS[row.version]}"


def _row(source: Source, row: DualMetricRow, is_best: bool) -> list[Cell]:
    numbers = [share(row.hard), share(row.soft), share(row.mixed), count(row.units)]
    return [_name(row), *numbers, row.skills, row.prompts, _became(source, row, is_best)]


def _became(source: Source, row: DualMetricRow, is_best: bool) -> Cell:
    if is_best:
        return marked("good", "best so far")
    report = next((epoch for epoch in source.tables.epochs if epoch.epoch == row.epoch), None)
    if row.version == "slow_candidate" and report is not None:
        return report.prompts_verdict
    return ""


def heatmap(source: Source) -> Grid:
    """Accuracy of each type in each validated version."""
    scores = source.tables.scores
    versions = list(dict.fromkeys((row.epoch, row.version) for row in scores))
    found = {(row.task_type, row.epoch, row.version): row for row in scores}
    types: Sequence[str | None] = [*sorted({row.task_type for row in scores if row.task_type}), None]
    columns = [_name(found[None, *version]) for version in versions]
    rows = [
        (name or "all", list(_shades([found.get((name, *version)) for version in versions])))
        for name in types
    ]
    return Grid(
        "Accuracy on full validation, by task type and version",
        "task type",
        columns,
        rows,
        "Dark is 0, bright is 1 (viridis).",
    )


def _shades(rows: Sequence[DualMetricRow | None]) -> Iterator[tuple[Cell, str]]:
    for row in rows:
        yield (NONE, "") if row is None else (share(row.hard), f"v{round(row.hard * SHADES)}")
