"""Sphinx: `make docs` builds the pages into build/docs."""

import shutil
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent

project = "skillmake"
extensions = ["myst_parser"]
myst_heading_anchors = 3  # so that `page.md#heading` is a link here as on a code host
highlight_language = "text"  # of what names no language: output, file samples, pictures of the DAG
html_theme = "furo"
html_title = "skillmake"
html_show_sourcelink = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["tables.css"]

# The help of every command, from the commands themselves
_typer = [sys.executable, "-m", "typer", "skillmake.cli", "utils", "docs", "--name", "skillmake"]
subprocess.run(
    [*_typer, "--title", "Every command", "--output", HERE / "commands.md"], check=True, cwd=HERE.parent
)

# What benchmarks/ measured. On a code host the links lead there; here the pages are copied beside the others.
MEASURED = HERE / "measured"
shutil.rmtree(MEASURED, ignore_errors=True)
MEASURED.mkdir()
for _page in HERE.parent.glob("benchmarks/*.md"):
    shutil.copy(_page, MEASURED)


def _link_to_the_copies(_app: Sphinx, _name: str, source: list[str]) -> None:
    source[0] = source[0].replace("](../benchmarks/", "](measured/")


def setup(app: Sphinx) -> None:
    app.connect("source-read", _link_to_the_copies)
