"""The report of a real run in a headless Chromium: it says what the tables say, and serves every reader."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.in_process import Run, checkout
from skillmake.config.load import overlay
from skillmake.tables.read import read_table
from tests.chrome import BROWSER, INSTALL, Page, chrome
from tests.integration.conftest import ROOT, TINY

pytestmark = pytest.mark.dag
REPORT = "runs/tiny/report.html"
# Every table by its caption: its header and its rows, as a reader sees them
TABLES = """Object.fromEntries([...document.querySelectorAll('table')].map(t => [t.caption.textContent,
    [...t.rows].map(r => [...r.cells].map(c => c.textContent.trim()))]))"""
FACTS = """Object.fromEntries([...document.querySelectorAll('.facts div')].map(d =>
    [d.querySelector('dt').textContent, d.querySelector('dd').textContent.trim().replace(/\\s+/g, ' ')]))"""
# Contrast of each text with what lies behind it, by WCAG 2: the lowest, and where it is
CONTRAST = """(() => {
  const rgb = s => (s.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => [.2126, .7152, .0722].reduce((sum, weight, k) => sum + weight * linear(c[k] / 255), 0);
  const behind = e => {
    const c = rgb(getComputedStyle(e).backgroundColor);
    return c[3] !== 0 ? c : e.parentElement ? behind(e.parentElement) : [255, 255, 255];
  };
  let worst = [99, ''];
  const selector = 'p,a,dt,dd,th,td,summary,span,ins,del,strong,h1,h2,pre,b,code,caption,figcaption,svg text';
  for (const e of document.querySelectorAll(selector)) {
    const style = getComputedStyle(e), svg = e.closest('svg');
    const [a, b] = [light(rgb(svg ? style.fill : style.color)), light(behind(svg ? svg.parentElement : e))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 80)];
  }
  return worst; })()"""

# Figures that a phone shows a part of; the graph may be one
HIDDEN = """[...document.querySelectorAll('section:not(#dag) .svg')]
    .filter(s => s.scrollWidth > s.clientWidth).map(s => s.getAttribute('aria-label'))"""


@dataclass(frozen=True)
class Made:
    """A run and its page as the browser shows it."""

    folder: Path
    tables: dict[str, list[list[str]]]
    facts: dict[str, str]

    def column(self, caption: str, *names: str) -> list[list[str]]:
        """The named columns of a table, row by row."""
        head, *rows = self.tables[caption]
        return [[row[head.index(name)] for name in names] for row in rows]


def config() -> dict[str, Any]:
    shipped = [
        yaml.safe_load((ROOT / name).read_text()) for name in ("params.yaml", "configs/rehearsal.yaml")
    ]
    return overlay(overlay(*shipped), TINY)


def in_browser(look: Callable[[Page], Any], folder: Path) -> Any:
    """What `look` finds on the page."""

    async def run() -> Any:
        async with chrome() as page:
            await page.size(1280, 900)
            await page.open(folder / REPORT)
            return await look(page)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    if not (BROWSER / "chromium").is_file():
        assert "CI" not in os.environ, f"CI has no browser; {INSTALL}"
        pytest.skip(f"there is no browser; with npm: {INSTALL}")
    with checkout() as found:
        Run(config()).make(REPORT)
        yield found


@pytest.fixture(scope="module")
def made(folder: Path) -> Made:
    async def read(page: Page) -> Made:
        found = Made(folder, await page.value(TABLES), await page.value(FACTS))
        assert [url for url in page.requests if not url.startswith("file:")] == []
        assert page.problems == []
        return found

    shown: Made = in_browser(read, folder)
    return shown


def test_the_numbers_on_the_page_are_those_of_the_tables(made: Made) -> None:
    tables = {path.stem: read_table(path) for path in (made.folder / "runs/tiny/tables").glob("*.jsonl")}
    metrics = json.loads((made.folder / "metrics.json").read_text())
    test, calls = metrics["test"], metrics["calls"]
    assert made.facts["Gain"].startswith(f"{test['gain']:+.3f} 95 % interval {test['gain_ci'][0]:+.3f}")
    assert made.facts["Calls"].startswith(f"{calls['student'] + calls['teacher'] + calls['judge']:,} ")
    sealed = made.column("Sealed test: seed against delivered", "task type", "seed", "delivered")
    assert sealed == [
        [name, *(f"{row[side]['accuracy']:.3f}" for side in ("seed", "delivered"))]
        for name, row in [*sorted(test["by_type"].items()), ("all", test)]
    ]
    scores = tables["dual_metric"]
    whole = scores[scores["task_type"].isna()]
    curve = made.column("Validated versions", "accuracy")
    assert [row[0] for row in curve] == [f"{value:.3f}" for value in whole["hard"]]
    _, *heat = made.tables["Accuracy on full validation, by task type and version"]
    for row in heat:
        own = whole if row[0] == "all" else scores[scores["task_type"] == row[0]]
        assert row[1:] == [f"{value:.3f}" for value in own["hard"]]
    steps = tables["step_report"]
    gated = steps[steps["action"].notna()]
    ledger = made.column("All tests of the run", "W", "L", "units", "e", "stopped")
    assert ledger == [
        [f"{r.wins}", f"{r.losses}", f"{r.n}", f"{r.e:,.2f}", r.stop_reason] for r in gated.itertuples()
    ]
    assert made.column("Calls by stage and model", "calls")[-1] == [made.facts["Calls"].split()[0]]
    asked = tables["predictions"]
    baseline = dict(made.column("Calls by stage and model", "stage", "calls"))["baseline"]
    assert baseline == f"{asked[asked['phase'] == 'baseline']['call'].nunique():,}"


def test_the_page_serves_keyboard_screen_reader_phone_dark_and_paper(folder: Path) -> None:
    async def look(page: Page) -> None:
        tree = (await page.call("Accessibility.getFullAXTree"))["nodes"]
        shown = [node for node in tree if not node.get("ignored")]
        named = Counter((n["role"]["value"], bool(n.get("name", {}).get("value"))) for n in shown)
        for role in ("image", "table", "region", "link"):
            assert (named[role, True] > 2, named[role, False]) == (True, 0), role
        assert named["heading", True] == 10
        await keyboard(page)
        for scheme in ("light", "dark"):
            await page.media(scheme=scheme)
            worst, where = await page.value(CONTRAST)
            assert worst >= 4.5, (scheme, where)
        await page.size(360, 800)
        assert await page.value("document.documentElement.scrollWidth") == 360
        await page.value("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert await page.value(HIDDEN) == []
        await page.media("print", "dark")
        assert await page.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"

    in_browser(look, folder)


async def keyboard(page: Page) -> None:
    """Tab comes to the skip link, then on; Enter opens what is folded, and a letter its candidate."""
    await page.press("Tab")
    assert await page.value("document.activeElement.textContent") == "To the content"
    await page.press("Enter")
    assert await page.value("location.hash") == "#main"
    fold = "document.querySelector('#candidates > details')"
    await page.value(f"{fold}.querySelector('summary').focus()")
    await page.press("Enter")
    assert await page.value(f"{fold}.open") is True
    inner = f"{fold}.querySelector('details')"
    await page.value("document.querySelector('#candidates .grid a').focus()")
    await page.press("Enter")
    assert await page.value(f"{inner}.open && {inner}.querySelector('svg') !== null") is True
