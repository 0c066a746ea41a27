"""One picture of a run: lines and tables without borders, so that it reads well in a terminal and aloud."""

from collections.abc import Iterator, Sequence
from math import log

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skillmake.watch.gates import GateRow
from skillmake.watch.place import clock
from skillmake.watch.snapshot import JobRow, Snapshot

WIDE = 92  # columns from which there is room for everything
BAR, FULL, EMPTY = 24, "━", "─"
METER = 10
MOST_JOBS = 8
MOST_EPOCHS = 6
# Words are bold, red or magenta: green and cyan cannot be read on the light ground of many terminals
STATUS = {
    "training": "bold",
    "finished": "bold",
    "failed": "bold red",
    "stopped": "bold red",
    "silent": "bold magenta",
    "not started": "bold",
}
GATES = {
    "accepted": "bold",
    "on probation": "bold",
    "climbs": "bold",
    "failed": "bold red",
    "lost": "bold red",
    "inconclusive": "magenta",
}
METERS = {"accepted": "green", "on probation": "green", "climbs": "cyan"}


def frame(snap: Snapshot, width: int, *, is_plain: bool = False) -> RenderableType:
    """The picture for a terminal of `width` columns; plain is without bars."""
    wide, bars = width >= WIDE, not is_plain
    parts: list[RenderableType] = [_head(snap)]
    if snap.status != "not started":
        parts += [
            _progress(snap, width, bars=bars),
            _accuracy(snap),
            *_gates(snap, wide=wide, bars=bars),
        ]
        parts += [*_jobs(snap), *_broken(snap), _spending(snap, width)]
    return Group(*parts)


def _head(snap: Snapshot) -> Text:
    line = Text()
    line.append(f"run {snap.run}", "bold").append("  ")
    line.append(snap.status, STATUS[snap.status])
    session = snap.session
    if snap.status == "training" and session is not None:
        where = "" if session.is_here else f" on {session.host}"
        line.append(f"{where} for {clock(snap.now - session.started)}")
    elif snap.status == "finished" and session is not None and session.ended is not None:
        line.append(f" after {clock(session.ended - session.started)}; skillmake result shows it")
    elif snap.status == "not started":
        line.append(": `snakemake --cores 8` starts it")
    elif snap.last_sign is not None and snap.status != "finished":
        line.append(f"; last sign {clock(max(0.0, snap.last_sign))} ago; the same command continues")
    return line


def _progress(snap: Snapshot, width: int, *, bars: bool) -> Text:
    parts = []
    if snap.status != "finished":
        parts.append(Text(_stage(snap), "bold"))
    if snap.steps:
        done = min(snap.steps_done, snap.steps)
        line = Text()
        if bars:
            filled = round(BAR * done / snap.steps)
            line.append(FULL * filled, "cyan").append(EMPTY * (BAR - filled), "dim").append("  ")
        parts.append(line.append(f"{done} of {snap.steps} steps"))
    if snap.left is not None:
        least = "at least" if snap.left.is_least else "about"
        parts.append(Text(f"{least} {clock(snap.left.seconds)} left", "bold"))
    line = Text("  ").join(parts)
    return line if line.cell_len <= width else Text("\n").join(parts)


def _stage(snap: Snapshot) -> str:
    place = snap.place
    if place.stage in ("prepare", "deliver"):
        return "prepares" if place.stage == "prepare" else "delivers"
    epoch = f"epoch {place.epoch}" + (f" of {snap.session.epochs}" if snap.session else "")
    if place.stage == "end":
        return f"{epoch}  slow update"
    return f"{epoch}  step {place.step} of {snap.steps_of_epoch}" if place.step else f"{epoch}  plans"


def _accuracy(snap: Snapshot) -> Text:
    if snap.seed is None:
        return Text()
    line = Text(f"validation  seed {_share(snap.seed)}")
    epochs = sorted(snap.validations)
    if len(epochs) > MOST_EPOCHS:
        line.append("  …")
    for epoch in epochs[-MOST_EPOCHS:]:
        line.append(f"  epoch {epoch} {_share(snap.validations[epoch])}")
    if snap.best is not None:
        accuracy, epoch = snap.best
        line.append("  best ").append(_share(accuracy), "bold")
        line.append(f" ({f'epoch {epoch}' if epoch else 'seed'})")
    if snap.batch is not None and snap.batch[1]:
        right, all_of_it = snap.batch
        line.append(f"\nbatch       {right} of {all_of_it} right ({right / all_of_it:.3f})")
    return line


def _gates(snap: Snapshot, *, wide: bool, bars: bool) -> Iterator[RenderableType]:
    if not snap.gates:
        return
    yield Text()
    table = _table()
    table.add_column(f"gates of step {snap.gate_step}", ratio=None, overflow="fold")
    table.add_column("", no_wrap=True)
    for name in ("rung", "units"):
        if wide:
            table.add_column(name, justify="right")
    table.add_column("W-L" if not wide else "W", justify="right", no_wrap=True)
    if wide:
        table.add_column("L", justify="right")
    table.add_column("e", justify="right", no_wrap=True)
    table.add_column("needs" if wide else "", justify="right", no_wrap=True)
    if wide and bars:
        table.add_column("")
    for row in snap.gates:
        table.add_row(*_gate_cells(row, wide=wide, bars=bars))
    yield table


def _gate_cells(row: GateRow, *, wide: bool, bars: bool) -> list[RenderableType]:
    state = Text().append(row.state, GATES.get(row.state, ""))
    if wide and row.note and not row.state.startswith(("accepted", "on probation")):
        state.append(f", {row.note}")
    cells: list[RenderableType] = [Text(row.type_slug), state]
    of = "" if row.most is None else f"/{row.most}"
    if wide:
        cells += [row.rung, "" if row.units is None else f"{row.units}{of}"]
        cells += ["" if row.wins is None else str(row.wins), "" if row.losses is None else str(row.losses)]
    else:
        cells.append("" if row.wins is None else f"{row.wins}-{row.losses}")
    cells.append("" if row.e is None else _evidence(row.e))
    cells.append("" if row.confirm_at is None or not wide else _evidence(row.confirm_at))
    if wide and bars:
        cells.append(_meter(row))
    return cells


def _meter(row: GateRow) -> Text:
    """The way of the evidence from 1 to what confirms, on a scale of its logarithm."""
    if row.e is None or row.confirm_at is None:
        return Text()
    share = log(max(row.e, 1.0)) / log(row.confirm_at) if row.confirm_at > 1 else 1.0
    filled = round(METER * min(share, 1.0))
    return Text(FULL * filled, METERS.get(row.state, "")).append(EMPTY * (METER - filled), "dim")


def _jobs(snap: Snapshot) -> Iterator[RenderableType]:
    if not snap.jobs:
        return
    yield Text()
    count = len(snap.jobs)
    table = _table()
    table.add_column(f"{count} job{'s' if count > 1 else ''} running", overflow="fold")
    for name in ("for", "calls", "cached"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in snap.jobs[:MOST_JOBS]:
        table.add_row(*_job_cells(row, snap.now))
    yield table
    if count > MOST_JOBS:
        yield Text(f"and {count - MOST_JOBS} more", "dim")


def _job_cells(row: JobRow, now: float) -> list[str]:
    job = row.job
    return [
        f"{job.rule} {job.type_slug}".strip(),
        clock(max(0.0, now - job.started)),
        f"{row.paid:,}",
        f"{row.cached:,}",
    ]


def _broken(snap: Snapshot) -> Iterator[RenderableType]:
    for job in snap.broken:
        word = "failed" if job.error else "lost"
        yield Text()
        yield Text(f"{word}: {job.name}", "bold red").append(f"  {job.error}" if job.error else "", "default")


def _spending(snap: Snapshot, width: int) -> RenderableType:
    calls = snap.calls
    all_of_them = calls.paid + calls.cached
    hits = f" ({calls.cached / all_of_them:.0%})" if all_of_them else ""
    line = Text("\ncalls")
    line.append(f"  {calls.paid:,} paid, {calls.cached:,} from the cache{hits}, {calls.rate:.1f}/s")
    if calls.errors:
        line.append(f"  {calls.errors:,} failed", "bold red")
    amounts = _amounts(snap)
    spent = Text("spent  ").append_text(Text(",  ").join(amounts))
    if spent.cell_len > width:
        spent = Text("\n  ").join([Text("spent"), *amounts])
    return line.append("\n").append_text(spent)


def _amounts(snap: Snapshot) -> Sequence[Text]:
    caps = snap.session.caps if snap.session else {}
    out = []
    for name, shown in (("calls", "calls"), ("tokens", "tokens"), ("cost", "money"), ("seconds", "time")):
        value = snap.spent.get(name, 0.0)
        text = {"cost": f"{value:,.2f}", "seconds": clock(value)}.get(name, f"{value:,.0f}")
        cap = caps.get(name)
        if cap is None:
            out.append(Text(f"{text} {shown}" if name != "seconds" else text))
            continue
        limit = {"cost": f"{cap:,.2f}", "seconds": clock(cap)}.get(name, f"{cap:,.0f}")
        share = value / cap
        style = "bold red" if share >= 0.9 else "bold" if share >= 0.5 else ""
        out.append(Text(f"{text} of {limit} {shown} ({share:.0%})", style))
    return out


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def _evidence(e: float) -> str:
    return f"{e:,.2f}" if e < 1000 else f"{e:,.0f}" if e < 1e6 else f"{e:.1e}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
