"""The result of a run as a table for the terminal."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

# Files have their keys sorted; people read all first, then what became of them
ORDER = (
    *("tried", "accepted", "provisional", "rejected", "inconclusive", "skipped"),
    *("student", "teacher", "judge", "cache_hits", "prompt", "completion"),
)


def result_text(metrics: Mapping[str, Any], width: int = 100) -> str:
    """Seed against delivered on the sealed test, per type and overall; edits; calls."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Sealed test: seed against delivered skills")
    for column in ("task type", "units", "seed", "delivered", "gain", "95 % interval"):
        table.add_column(column, justify="left" if column == "task type" else "right")
    test = metrics["test"]
    for name, row in [*sorted(test["by_type"].items()), ("all", test)]:
        low, high = row["gain_ci"]
        table.add_row(
            name,
            str(row["units"]),
            f"{row['seed']['accuracy']:.3f}",
            f"{row['delivered']['accuracy']:.3f}",
            f"{row['gain']:+.3f}",
            f"{low:+.3f} … {high:+.3f}",
            style="bold" if name == "all" else "",
        )
    out = StringIO()
    console = Console(file=out, width=width)
    console.print(table)
    for name in ("edits", "calls", "tokens"):
        numbers = sorted(metrics[name].items(), key=lambda item: ORDER.index(item[0]))
        console.print(f"{name}: " + ", ".join(f"{n:,} {key.replace('_', ' ')}" for key, n in numbers))
    gate, bounds = metrics["gate"], metrics["gate"]["expected_false"]
    console.print(
        f"gate: {gate['tests']} tests; if no candidate were better it would confirm "
        f"{bounds['confirmed']:.2f} and let in {bounds['accepted']:.1f} at most"
    )
    if "rehearsal" in metrics:
        truth = metrics["rehearsal"]["true_accuracy"]
        console.print(
            f"known-truth world: true accuracy {truth['seed']:.3f} → {truth['delivered']:.3f} "
            f"({truth['gain']:+.3f})"
        )
    return out.getvalue()
