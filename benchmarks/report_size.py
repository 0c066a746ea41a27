"""How large the report of a long run is and how fast it opens: `python -m benchmarks.report_size --steps 50`.

The rehearsal configuration is trained in this process; its gates are repeated until there are as many steps,
each with a candidate of every type, and the page of that is opened in a headless Chromium.
"""

import asyncio
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
import yaml

from benchmarks.in_process import ROOT, Run, checkout
from skillmake.config.load import overlay
from skillmake.report.page import report_html
from skillmake.report.source import Source, read_folder
from skillmake.settle import GateResult
from skillmake.tables.gates import GateEvidenceRow, StepReportRow
from skillmake.tables.record import StepRecord
from tests.chrome import chrome

REPORT, EPOCHS = "runs/rehearsal/report.html", 10
TIMES = "JSON.stringify(performance.getEntriesByType('navigation')[0])"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
UNFOLD = """(() => { document.querySelectorAll('details').forEach(d => d.open = true);
    const begun = performance.now(); document.body.offsetHeight; return performance.now() - begun })()"""


def repeated(source: Source, steps: int) -> Source:
    """The run with `steps` steps, each with a gate of every type that has met one."""
    found: dict[str, list[tuple[StepRecord, GateResult]]] = defaultdict(list)
    for step in source.record.steps:
        for gate in step.gates:
            if gate.decision is not None:
                found[gate.task_type].append((step, gate))
    rows: list[StepReportRow] = []
    evidence: list[GateEvidenceRow] = []
    records = []
    for number in range(steps):
        where = {"epoch": 1 + number * EPOCHS // steps, "step": 1 + number}
        chosen = [each[number % len(each)] for _, each in sorted(found.items())]
        for step, gate in chosen:
            at = (step.epoch, step.step, gate.task_type)
            for table, out in ((source.tables.steps, rows), (source.tables.evidence, evidence)):
                own = (row for row in table if (row.epoch, row.step, row.task_type) == at)
                out += [row.model_copy(update=where) for row in own]  # type: ignore[arg-type]
        gates = tuple(gate for _, gate in chosen)
        records.append(replace(chosen[0][0], gates=gates, **where))
    return replace(
        source,
        record=replace(source.record, steps=tuple(records)),
        tables=replace(source.tables, steps=rows, evidence=evidence),
    )


async def opened(file: Path) -> dict[str, float]:
    """Milliseconds until the page is read, loaded and painted, and then until it is laid out unfolded."""
    async with chrome() as page:
        await page.size(1280, 900)
        await page.open(file)
        times = json.loads(await page.value(TIMES))
        await page.picture(file.with_suffix(".png"))
        painted = await page.value(PAINT)
        unfolded = await page.value(UNFOLD)
        return {
            "read": times["domInteractive"],
            "loaded": times["loadEventEnd"],
            "painted": painted,
            "unfolded": unfolded,
        }


def main(steps: Annotated[int, typer.Option(help="Steps of the run.")] = 50) -> None:
    """Train, make the page, and open it."""
    names = ("params.yaml", "configs/rehearsal.yaml")
    config = overlay(*(yaml.safe_load((ROOT / name).read_text()) for name in names))
    with checkout() as folder:
        Run(config).make(REPORT)
        file = folder / REPORT
        short = read_folder(file.parent)
        print(f"{len(short.record.steps)} steps: {file.stat().st_size / 1e6:.1f} MB")
        page = report_html(repeated(short, steps))
        print(f"{steps} steps, {page.count('<svg')} figures: {len(page.encode()) / 1e6:.1f} MB")
        file.write_text(page)
        print(", ".join(f"{what} {ms:.0f} ms" for what, ms in asyncio.run(opened(file)).items()))


if __name__ == "__main__":
    typer.run(main)
