"""A picture of the terminal as one SVG file, light or dark as its reader likes it."""

import re
from io import StringIO

from rich.console import Console, RenderableType
from rich.terminal_theme import TerminalTheme

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def _theme(ground: str, text: str, colours: str) -> TerminalTheme:
    """`colours` in the order of a terminal: black, red, green, yellow, blue, magenta, cyan, white."""

    def rgb(code: str) -> tuple[int, int, int]:
        return int(code[:2], 16), int(code[2:4], 16), int(code[4:], 16)

    return TerminalTheme(rgb(ground), rgb(text), [rgb(code) for code in colours.split()])


# Each colour has a contrast of 4.5 or more to its ground, and red and green differ in lightness
LINE = "#8b949e"
LIGHT = _theme("ffffff", "24292f", "24292f b01828 14643c 785000 0a50be 822896 005f78 57606a")
DARK = _theme("161b22", "e6edf3", "484f58 ff8c82 6edc96 e6be5a 78b4ff d7a0f0 5acde1 c8d0d8")
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>skillmake watch</title>
<style>
.{unique_id}-matrix {{ font-family: {{FONT}}; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
<rect class="ground" x="1" y="1" width="99.8%" height="99.6%" rx="8"/>
<g transform="translate(9.5, 25.5)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def svg(picture: RenderableType, width: int) -> str:
    """The picture in a terminal of `width` columns."""
    light, dark = _export(picture, width, LIGHT), _export(picture, width, DARK)
    rules = re.findall(r"^\.\S+-r\d+ \{.*\}$", dark, re.MULTILINE)
    ground = f".ground {{{{ fill: {{}}; stroke: {LINE} }}}}".format
    dark_rules = "\n".join([ground(DARK.background_color.hex), *rules])
    own = f"{ground(LIGHT.background_color.hex)}\n@media (prefers-color-scheme: dark) {{\n{dark_rules}\n}}\n"
    return light.replace("</style>", f"{own}</style>", 1)


def _export(picture: RenderableType, width: int, theme: TerminalTheme) -> str:
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(picture)
    return console.export_svg(theme=theme, code_format=FORMAT.replace("{{FONT}}", FONT), unique_id="watch")
