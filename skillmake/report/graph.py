"""The DAG of the run: its rules, and what each makes from what, read off the stamps of the artefacts."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import PurePath

from markupsafe import Markup

from skillmake.report.charts import graph_chart
from skillmake.report.parts import Figure, Section, Table, count, listed
from skillmake.report.source import Source

STAGES = ("Prepare, once", "Plan, each epoch", "Step", "End of an epoch", "Deliver, once")
PREPARE, PLAN, STEP, END, DELIVER = range(5)
WIDE, MARGIN, HIGH, GAP, LANE, HEAD, FOOT, LETTER = 960, 24, 26, 26, 34, 28, 18, 8.2
COLUMNS = ("rule", "stage", "artefacts", "made from", "of the step or epoch before")


@dataclass(frozen=True)
class Edges:
    """Rules by the rules that they follow: in the same round, and from the round before."""

    forward: Mapping[str, set[str]]
    back: Mapping[str, set[str]]


def graph(source: Source) -> Section:
    """A figure and its table."""
    stages, edges, made = _read(source)
    words = (
        "Each artefact carries the digests of what it was made from, and this is what those of this run say. "
        "A dashed line leads to the next step or epoch. Lines that follow from others are left out."
    )
    order = sorted(stages, key=lambda rule: (stages[rule], rule))
    rows = [
        [rule, STAGES[stages[rule]], count(made[rule]), *(listed(sorted(e[rule])) for e in _both(edges))]
        for rule in _in_order(order, stages, edges)
    ]
    table = Table("Rules of the run", COLUMNS, rows, frozenset({"artefacts"}))
    figure = Figure(_drawn(stages, edges), "The rules from top to bottom; the table below says the same.")
    return Section("dag", "The run as a graph", [words, figure, table])


def _both(edges: Edges) -> tuple[Mapping[str, set[str]], Mapping[str, set[str]]]:
    return edges.forward, edges.back


def _stage(place: str) -> tuple[int, int, int]:
    """Stage, epoch and step of a place."""
    if found := re.match(r"e(\d+)/s(\d+)/", place):
        return STEP, int(found[1]), int(found[2])
    if found := re.match(r"e(\d+)/(end/)?", place):
        return END if found[2] else PLAN, int(found[1]), 0
    return PREPARE if place.startswith(("data/", "init/")) else DELIVER, 0, 0


def _read(source: Source) -> tuple[dict[str, int], Edges, Counter[str]]:
    """Stages of the rules, edges between them, and how many artefacts each has made."""
    rules = {stamp.place: stamp.rule for stamp in source.stamps}
    # A file that is no JSON carries no stamp; its rule is called as it is
    for place in sorted({place for stamp in source.stamps for place in stamp.sources} - rules.keys()):
        rules[place] = PurePath(place).stem
    stages = {rule: _stage(place)[0] for place, rule in rules.items()}
    forward: dict[str, set[str]] = defaultdict(set)
    back: dict[str, set[str]] = defaultdict(set)
    for stamp in source.stamps:
        stage, *at = _stage(stamp.place)
        for place in stamp.sources:
            if rules[place] != stamp.rule:
                before, *there = _stage(place)
                same = before <= stage and (before == PREPARE or stage == DELIVER or _same(before, there, at))
                (forward if same else back)[stamp.rule].add(rules[place])
    for rule in stages:
        back[rule] -= forward[rule]
    return stages, Edges(forward, back), Counter(rules.values())


def _same(stage: int, there: Sequence[int], at: Sequence[int]) -> bool:
    """Whether a place of `stage` is of the same epoch, and of the same step where both have one."""
    return there[0] == at[0] and (stage != STEP or at[1] in (0, there[1]))


def _in_order(rules: Sequence[str], stages: Mapping[str, int], edges: Edges) -> list[str]:
    """Rules by stage and, in it, each behind what it follows."""
    sorter = TopologicalSorter({rule: sorted(edges.forward[rule]) for rule in rules})
    order = list(sorter.static_order())
    return sorted(order, key=lambda rule: stages[rule])


def _depth(stages: Mapping[str, int], edges: Edges) -> dict[str, int]:
    """Longest way to each rule inside of its stage."""
    depth: dict[str, int] = {}
    for rule in _in_order(sorted(stages), stages, edges):
        own = [before for before in edges.forward[rule] if stages[before] == stages[rule]]
        depth[rule] = 1 + max((depth[before] for before in own), default=-1)
    return depth


def _reduced(stages: Mapping[str, int], edges: Edges) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Edges that do not follow from longer ways (the transitive reduction), forward and back."""
    above: dict[str, set[str]] = {}
    forward = []
    for rule in TopologicalSorter({r: sorted(b) for r, b in edges.forward.items()}).static_order():
        direct = edges.forward.get(rule, set())
        above[rule] = direct.union(*(above[each] for each in direct))
        forward += [(b, rule) for b in sorted(direct) if not any(b in above[other] for other in direct)]
    loops = {(before, rule) for rule, many in edges.back.items() for before in many}

    def follows(loop: tuple[str, str]) -> bool:
        """A longer way goes from one step to the next, or from one epoch to the next, as it does."""
        a, b = loop
        others = ((c, d) for c, d in loops if (c, d) != loop and stages[c] == stages[a])
        return any(a in {c, *above.get(c, ())} and d in {b, *above.get(b, ())} for c, d in others)

    return forward, sorted(loop for loop in loops if not follows(loop))


def _drawn(stages: Mapping[str, int], edges: Edges) -> Markup:
    """Stages from top to bottom, the rules of each from left to right."""
    depth = _depth(stages, edges)
    boxes: dict[str, Box] = {}
    bands, y = [], 0.0
    for stage, name in enumerate(STAGES):
        columns: dict[int, list[str]] = defaultdict(list)
        for rule in sorted(rule for rule in stages if stages[rule] == stage):
            columns[depth[rule]].append(rule)
        if columns:
            boxes |= _band([columns[key] for key in sorted(columns)], y + HEAD)
            bottom = y + HEAD + LANE * max(map(len, columns.values())) + FOOT
            bands.append({"name": name, "top": y, "bottom": bottom - 6})
            y = bottom
    forward, back = _reduced(stages, edges)
    ways = [_way(boxes[a], boxes[b], stages[a] == stages[b]) for a, b in forward]
    loops = [_loop(boxes[a], boxes[b], stages[a] == stages[b]) for a, b in back]
    lines = [point for kind, many in (("forward", ways), ("back", loops)) for point in _points(kind, many)]
    return graph_chart([vars(box) for box in boxes.values()], lines, bands, (WIDE, y))


def _points(kind: str, ways: Sequence["Way"]) -> Iterator[dict[str, object]]:
    for number, (points, tip) in enumerate(ways):
        for order, (x, y) in enumerate(points):
            end = tip if order == len(points) - 1 else None
            yield {"x": x, "y": y, "line": f"{kind}{number}", "order": order, "kind": kind, "tip": end}


@dataclass(frozen=True)
class Box:
    """A rule in the figure, in pixels."""

    name: str
    left: float
    right: float
    top: float
    bottom: float
    x: float
    y: float


def _band(columns: Sequence[Sequence[str]], top: float) -> dict[str, Box]:
    """Boxes of the columns beside each other; those of a column below each other."""
    x, out = float(2 * MARGIN), dict[str, Box]()
    for rules in columns:
        width = LETTER * max(map(len, rules)) + 18
        for lane, rule in enumerate(rules):
            y = top + lane * LANE
            out[rule] = Box(rule, x, x + width, y, y + HIGH, x + width / 2, y + HIGH / 2)
        x += width + GAP
    return out


Way = tuple[list[tuple[float, float]], int]  # points, and where the tip of the last one points (degrees)


def _way(a: Box, b: Box, is_beside: bool) -> Way:
    """From side to side inside of a stage, else from below a to above b."""
    if is_beside and a.right < b.left:
        return [(a.right, a.y), (b.left - 5, b.y)], 90
    middle = b.top - HEAD + 2
    return [(a.x, a.bottom), (a.x, middle), (b.x, middle), (b.x, b.top - 5)], 180


def _loop(a: Box, b: Box, is_beside: bool) -> Way:
    """Below the boxes of a stage; to another stage along the margin."""
    low = a.bottom + 9
    if is_beside:
        return [(a.x, a.bottom), (a.x, low), (b.x, low), (b.x, b.bottom + 5)], 0
    return [(a.x, a.bottom), (a.x, low), (MARGIN, low), (MARGIN, b.y), (b.left - 5, b.y)], 90
