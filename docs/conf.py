"""Sphinx: `make docs` builds the pages into build/docs."""

project = "skillmake"
extensions = ["myst_parser"]
myst_heading_anchors = 3  # so that `page.md#heading` is a link here as on a code host
html_theme = "furo"
html_title = "skillmake"
html_show_sourcelink = False
html_show_copyright = False
