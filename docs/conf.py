"""Sphinx: `make docs` builds the pages into build/docs."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

project = "skillmake"
extensions = ["myst_parser"]
myst_heading_anchors = 3  # so that `page.md#heading` is a link here as on a code host
html_theme = "furo"
html_title = "skillmake"
html_show_sourcelink = False
html_show_copyright = False

# The help of every command, from the commands themselves
_typer = [sys.executable, "-m", "typer", "skillmake.cli", "utils", "docs", "--name", "skillmake"]
subprocess.run(
    [*_typer, "--title", "Every command", "--output", HERE / "commands.md"], check=True, cwd=HERE.parent
)
