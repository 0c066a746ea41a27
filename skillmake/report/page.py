"""The page: its sections in order, and the HTML."""

from pathlib import Path

from skillmake.report.candidates import candidates, ledger
from skillmake.report.cost import cost
from skillmake.report.failures import failures
from skillmake.report.graph import graph
from skillmake.report.headline import headline
from skillmake.report.parts import coded
from skillmake.report.slow_updates import probations, slow_updates
from skillmake.report.source import Source
from skillmake.report.validation import validation

TEMPLATES = Path(__file__).parent / "templates"
SECTIONS = (headline, validation, candidates, ledger, probations, slow_updates, failures, cost, graph)


def report_html(source: Source) -> str:
    """The report of a run, the same bytes for the same source."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"kind": lambda part: type(part).__name__, "coded": coded}
    sections = [section(source) for section in SECTIONS]
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    return environment.get_template("page.html").render(run=source.run, sections=sections, style=style)
