"""Figures: Vega-Lite specifications, drawn once by vl-convert, so that the page needs no script.

Colours are variables of the page's style, so that one drawing serves light, dark and paper.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil
from typing import Any

from markupsafe import Markup

INK, SOFT, GRID = "var(--ink)", "var(--soft)", "var(--line)"
BLUE, ORANGE, GREEN = "var(--blue)", "var(--orange)", "var(--green)"
# One of those that vl-convert brings along, so that every machine measures texts alike
FONT = "Liberation Sans"
SIZE = 14
SMALLEST = 0.7  # of its size: what is wider than a phone then scrolls
CONFIG = {
    "background": None,
    "padding": 8,
    "font": FONT,
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "titleFontWeight": "normal",
        "domainColor": GRID,
        "tickColor": GRID,
        "gridColor": GRID,
        "labelFontSize": SIZE,
        "titleFontSize": SIZE,
        "labelLimit": 180,
        "labelFlush": False,
    },
    "legend": {"labelColor": INK, "title": None, "labelFontSize": SIZE, "orient": "top"},
    "text": {"color": INK, "fontSize": SIZE},
}
MOST_TICKS = 8
EVIDENCE = 260  # width of its figure
Values = Sequence[Mapping[str, Any]]


def draw(spec: Mapping[str, Any]) -> Markup:
    """The SVG of a specification."""
    return _drawn(json.dumps({"config": CONFIG, **spec}))


@cache
def _drawn(spec: str) -> Markup:
    """Many candidates stop after the same few ties, and their figures are the same."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(spec)
    # The page names the figure and says its font; a width in pixels would not fit a phone
    head = re.sub(r'<svg [^>]*?width="(\d+)"[^>]*?viewBox="([^"]*)"[^>]*>', _head, svg, count=1)
    return Markup(re.sub(rf' font-family="{FONT}"| pointer-events="none"| aria-hidden="true"', "", head))


def _head(found: re.Match[str]) -> str:
    wide = int(found[1])
    style = f"max-width:{wide}px;min-width:{SMALLEST * wide:.0f}px"
    return f'<svg viewBox="{found[2]}" style="{style}" aria-hidden="true" focusable="false">'


def validation_chart(values: Values) -> Markup:
    """`epoch`, `accuracy`, `version` (what was validated) and `is_best`."""
    names = list(dict.fromkeys(value["version"] for value in values))
    colours = {"seed": SOFT, "R": BLUE, "R2": ORANGE}
    version = {"field": "version", "type": "nominal"}
    points = {
        "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
        "encoding": {
            "color": {**version, "scale": {"domain": names, "range": [colours[name] for name in names]}},
            "shape": {**version, "scale": {"domain": names}},
        },
    }
    line = {"mark": {"type": "line", "color": BLUE}, "transform": [{"filter": "datum.version != 'R2'"}]}
    best = {
        "mark": {"type": "text", "dy": -14, "fontWeight": "bold", "text": "best"},
        "transform": [{"filter": "datum.is_best"}],
    }
    last = max(value["epoch"] for value in values)
    return draw(
        {
            "width": 390,
            "height": 200,
            "data": {"values": list(values)},
            "encoding": {
                "x": quantity("epoch", axis=_whole(last)),
                "y": quantity("accuracy", scale={"zero": False, "nice": True, "padding": 8}),
            },
            "layer": [line, points, best],
        }
    )


def quantity(field: str, **more: Any) -> dict[str, Any]:
    """An encoding of numbers."""
    return {"field": field, "type": "quantitative", **more}


def _whole(last: int) -> dict[str, Any]:
    """An axis from 0 to `last` with marks at whole numbers only, however few there are."""
    return {"values": list(range(0, last + 1, max(1, ceil(last / MOST_TICKS)))), "format": "d", "grid": False}


def gain_chart(values: Values) -> Markup:
    """`name`, `gain`, `low`, `high`, in the order given."""
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelColor": INK}}
    axis = {"tickCount": 4, "format": "+.1f"}
    x = {"field": "low", "type": "quantitative", "title": "gain, with its 95 % interval", "axis": axis}
    point = {"field": "gain", "type": "quantitative"}
    zero = {"mark": {"type": "rule", "color": SOFT, "strokeDash": [4, 3]}, "encoding": {"x": {"datum": 0}}}
    span = {
        "mark": {"type": "rule", "strokeWidth": 3, "color": BLUE, "opacity": 0.5},
        "encoding": {"x": x, "x2": {"field": "high"}, "y": y},
    }
    dot = {
        "mark": {"type": "point", "filled": True, "size": 90, "color": BLUE, "opacity": 1},
        "encoding": {"x": point, "y": y},
    }
    return draw(
        {
            "width": 290,
            "height": {"step": 24},
            "data": {"values": list(values)},
            "layer": [zero, span, dot],
        }
    )


def evidence_chart(path: Values, bars: Mapping[str, float]) -> Markup:
    """`path`: `units` read, evidence `e`, `outcome` of the last one (`win`, `loss`, else empty) and whether a
    rung `ends` there; `bars`: what is asked of the evidence, by name."""
    top = max([*(value["e"] for value in path), *bars.values()]) * 1.3
    low = min([0.5, *(value["e"] for value in path)]) / 1.2
    y = {
        "title": "evidence e",
        "scale": {"type": "log", "domain": [low, top], "nice": False},
        "axis": {"grid": False, "tickCount": 3, "format": "~g"},
    }
    x = quantity("units", title="units read", axis=_whole(path[-1]["units"]))
    outcome = {"field": "outcome", "legend": None}
    scale = {"domain": ["win", "loss"]}
    signs = {
        "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
        "encoding": {
            "color": {**outcome, "scale": {**scale, "range": [BLUE, ORANGE]}},
            "shape": {**outcome, "scale": {**scale, "range": ["triangle-up", "triangle-down"]}},
        },
        "transform": [{"filter": "datum.outcome"}],
    }
    rungs = {
        "mark": {"type": "point", "size": 140, "color": SOFT, "opacity": 1},
        "transform": [{"filter": "datum.ends"}],
    }
    line = {"mark": {"type": "line", "interpolate": "step-after", "color": INK, "strokeWidth": 1.5}}
    return draw(
        {
            "width": EVIDENCE,
            "height": 130,
            "data": {"values": list(path)},
            "encoding": {"x": x, "y": quantity("e", **y)},
            "layer": [*_bars(bars), line, signs, rungs],
        }
    )


def _bars(bars: Mapping[str, float]) -> list[dict[str, Any]]:
    """A line and a word for each threshold."""
    values = [{"at": at, "name": f"{name} {at:g}"} for name, at in bars.items()]
    y = {"field": "at", "type": "quantitative"}
    rule = {"type": "rule", "color": GREEN, "strokeDash": [5, 4]}
    text = {"type": "text", "align": "left", "dx": 6, "color": GREEN}
    data = {"values": values}
    return [
        {"data": data, "mark": rule, "encoding": {"x": None, "y": y}},
        {
            "data": data,
            "mark": text,
            "encoding": {"x": {"value": EVIDENCE}, "y": y, "text": {"field": "name"}},
        },
    ]


def graph_chart(nodes: Values, lines: Values, bands: Values, size: tuple[float, float]) -> Markup:
    """All in pixels of `size`, width and height. `nodes`: `left`, `right`, `top`, `bottom`, the middle `x`
    and `y`, and `name`; `lines`: their points `x` and `y` in `order`, by `line`, `kind` (`forward`, `back`)
    and the `tip` of the last one (degrees, else None); `bands`: `top`, `bottom` and `name` of a stage."""
    wide, high = size
    x = {"axis": None, "scale": {"domain": [0, wide], "nice": False}}
    y = {"axis": None, "scale": {"domain": [high, 0], "nice": False}}
    box = {"y": quantity("top", **y), "y2": {"field": "bottom"}}
    middle = {"x": quantity("x", **x), "y": quantity("y", **y)}
    named = {"text": {"field": "name"}}
    title = {"type": "text", "align": "right", "baseline": "top", "dx": -8, "dy": 6, "color": SOFT}
    frame = {"type": "rect", "fill": "var(--page)", "stroke": BLUE, "cornerRadius": 4}
    sides = {"x": quantity("left", **x), "x2": {"field": "right"}}
    whole = {"x": {"value": 0}, "x2": {"value": wide}}
    layer = [
        {
            "data": {"values": list(bands)},
            "layer": [
                {"mark": {"type": "rect", "fill": "var(--band)"}, "encoding": {**whole, **box}},
                {"mark": title, "encoding": {"x": {"value": wide}, "y": box["y"], **named}},
            ],
        },
        {"data": {"values": list(lines)}, "encoding": middle, "layer": _ways()},
        {
            "data": {"values": list(nodes)},
            "layer": [
                {"mark": frame, "encoding": {**sides, **box}},
                {"mark": {"type": "text"}, "encoding": {**middle, **named}},
            ],
        },
    ]
    return draw({"width": wide, "height": high, "layer": layer})


def _ways() -> list[dict[str, Any]]:
    """Lines and their tips."""
    kind, domain = {"field": "kind", "legend": None}, ["forward", "back"]
    colour = {"color": {**kind, "scale": {"domain": domain, "range": [SOFT, ORANGE]}}}
    dash = {"strokeDash": {**kind, "scale": {"domain": domain, "range": [[1, 0], [5, 4]]}}}
    tip = {"type": "point", "shape": "triangle-up", "filled": True, "size": 45, "opacity": 1}
    return [
        {
            "mark": {"type": "line", "strokeWidth": 1.3},
            "encoding": {"detail": {"field": "line"}, "order": {"field": "order"}, **dash, **colour},
        },
        {
            "mark": tip,
            "transform": [{"filter": "datum.tip !== null"}],
            "encoding": {"angle": quantity("tip", scale=None), **colour},
        },
    ]
