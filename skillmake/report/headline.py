"""The first section: what the run has brought, on the sealed test, and what it took."""

from collections.abc import Iterator, Mapping
from typing import Any

from skillmake.compare import diff_lines
from skillmake.report.charts import gain_chart
from skillmake.report.cost import list_price, paid_words
from skillmake.report.parts import (
    Diff,
    Facts,
    Figure,
    Fold,
    Section,
    Table,
    count,
    listed,
    many,
    share,
    signed,
)
from skillmake.report.source import Source

COLUMNS = ("task type", "units", "seed", "delivered", "gain", "95 % interval")


def headline(source: Source) -> Section:
    """Facts, the sealed test by type, and what was delivered as a diff of the seed."""
    return Section("result", "Result", list(_parts(source)))


def _parts(source: Source) -> Iterator[object]:
    metrics = source.metrics
    if metrics is None:
        steps, epochs = len(source.record.steps), len(source.record.ends)
        yield (
            f"The run is not finished: {many(steps, 'step')} and {many(epochs, 'epoch')} done. "
            "The sealed test comes at its end."
        )
    else:
        if "rehearsal" in metrics:
            yield "A rehearsal in the known-truth world: no model has answered, and nothing was paid."
        yield Facts(list(_facts(source, metrics)))
        yield from _test(metrics["test"])
    yield from _delivered(source)


def _facts(source: Source, metrics: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    test, validation, edits = metrics["test"], metrics["validation"], metrics["edits"]
    low, high = test["gain_ci"]
    seed, delivered = (test[side]["accuracy"] for side in ("seed", "delivered"))
    yield "Sealed test", f"{share(seed)} to {share(delivered)}", f"{count(test['units'])} units"
    yield "Gain", signed(test["gain"]), f"95 % interval {signed(low)} to {signed(high)}"
    if "rehearsal" in metrics:
        truth = metrics["rehearsal"]["true_accuracy"]
        yield (
            "True accuracy",
            f"{share(truth['seed'])} to {share(truth['delivered'])}",
            "as the known-truth world has it",
        )
    best = f"{share(validation['seed'])} to {share(validation['best'])}"
    yield "Full validation", best, f"the best version, of {_when(validation['best_epoch'])}"
    accepted = f"{edits['accepted']} confirmed, {edits['provisional']} on probation"
    yield "Candidates", f"{count(edits['tried'])} gated", accepted
    bound = metrics["gate"]["expected_false"]["confirmed"]
    yield "False confirmations", f"≤ {bound:.2f}", "expected, if no candidate were better"
    calls, tokens = metrics["calls"], metrics["tokens"]
    roles = listed(f"{count(calls[role])} {role}" for role in ("student", "teacher", "judge") if calls[role])
    total = sum(calls[role] for role in ("student", "teacher", "judge"))
    yield "Calls", count(total), f"{roles}; {count(tokens['prompt'] + tokens['completion'])} tokens"
    yield "Money", list_price(source), paid_words(source)


def _when(epoch: int) -> str:
    return f"epoch {epoch}" if epoch else "the seed"


def _test(test: Mapping[str, Any]) -> Iterator[object]:
    rows = [*sorted(test["by_type"].items()), ("all", test)]
    values = [
        {"name": name, "gain": row["gain"], "low": row["gain_ci"][0], "high": row["gain_ci"][1]}
        for name, row in rows
    ]
    yield Figure(
        gain_chart(values), "Gain of each task type with its interval; the table below has the numbers."
    )
    yield Table(
        "Sealed test: seed against delivered",
        COLUMNS,
        [_test_row(name, row) for name, row in rows],
        frozenset(COLUMNS[1:]),
    )


def _test_row(name: str, row: Mapping[str, Any]) -> list[str]:
    low, high = row["gain_ci"]
    shares = [share(row[side]["accuracy"]) for side in ("seed", "delivered")]
    return [name, count(row["units"]), *shares, signed(row["gain"]), f"{signed(low)} to {signed(high)}"]


def _delivered(source: Source) -> Iterator[object]:
    if source.best is None:
        return
    old, new = source.record.seed, source.best.texts
    pairs = ((old.skills.files, new.skills.files), (old.prompts.files, new.prompts.files))
    diffs = [
        Diff(diff_lines(before.get(path), after.get(path), path, path), path)
        for before, after in pairs
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]
    title = f"What training has changed: {many(len(diffs), 'text')} of the best version against the seed"
    yield Fold(title, diffs or ["The best version is the seed."])
