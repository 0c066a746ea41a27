"""Draws the figures of docs/gate.md with the library's own functions: `python docs/figures.py [FOLDER]`.

matplotlib writes the same bytes for the same numbers; a test compares them with the files in this folder.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from skillmake.config.models import Gate
from skillmake.evidence import e_value
from skillmake.gate import Decision
from skillmake.power import gate_rates, play, simulated

GATE = Gate(rung=10)  # the other values are the defaults
ACCURACY, CHURN = 0.5, 0.05
RUNS = 200  # simulated candidates for each point of the third figure
# Colours of Okabe and Ito, which the colour-blind tell apart
GREEN, ORANGE, VERMILION, BLUE, GREY = "#009e73", "#e69f00", "#d55e00", "#0072b2", "#666666"
STYLE = {
    "svg.hashsalt": "skillmake",
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
BARE = dict.fromkeys(("Date", "Creator"))


def example(lift: float, seed: int, gate: Gate = GATE) -> Decision:
    """The gate on one simulated candidate that is `lift` better (worse, where it is negative)."""
    pair = next(simulated(gate.n_max, ACCURACY, abs(lift), CHURN, 1, ("docs", seed)))
    return play(*(pair if lift >= 0 else pair[::-1]), gate, ("docs", seed))


def path_of(decision: Decision) -> list[float]:
    """e after each unit, from 1 before the first one."""
    wins = losses = 0
    out = [1.0]
    for row in decision.evidence:
        wins += row.outcome == "win"
        losses += row.outcome == "loss"
        out.append(e_value(wins, losses))
    return out


def draw_paths(axes: Axes) -> None:
    for lift, seed, colour, mark in PATHS:
        decision = example(lift, seed)
        path, n = path_of(decision), decision.numbers
        what = f"{lift:+.0%}: {decision.stop_reason}, W {n.wins} L {n.losses} of {n.n}"
        axes.plot(path, color=colour, label=what)
        ends = [k for k in range(0, len(path), GATE.rung) if k]
        axes.plot(ends, [path[k] for k in ends], mark, color=colour)
        axes.plot(len(path) - 1, path[-1], mark, color=colour, markersize=9)
    for height, name in ((GATE.e_confirm, "gate.e_confirm"), (GATE.e_provisional, "gate.e_provisional")):
        axes.axhline(height, color=GREY, linestyle="--", linewidth=1)
        axes.text(41, height, f"{name} = {height:g}", va="center", color=GREY)
    for k in range(GATE.rung, GATE.n_max + 1, GATE.rung):
        axes.axvline(k, color=GREY, linestyle=":", linewidth=0.8)
    axes.set(
        yscale="log",
        xlim=(0, 40.5),
        xlabel="units asked; dotted: the end of a rung",
        ylabel="evidence e(W, L)",
    )
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, ncols=2)


def draw_map(axes: Axes) -> None:
    most = 16
    kind = np.zeros((most, most))
    for wins in range(most):
        for losses in range(most):
            e, enough = e_value(wins, losses), wins + losses >= GATE.min_discordant
            on_probation = e >= GATE.e_provisional and wins - losses >= GATE.w_net_min
            kind[losses, wins] = 2 if enough and e >= GATE.e_confirm else int(enough and on_probation)
    axes.imshow(kind, origin="lower", cmap=ListedColormap(["#eeeeee", "#f6d58e", "#7fceb9"]))
    for wins in range(0, most, 2):
        for losses in range(0, most, 2):
            e = e_value(wins, losses)
            text = f"{e:.2f}" if e < 10 else f"{e:,.0f}" if e < 10_000 else f"{e:.0e}"
            axes.text(wins, losses, text, ha="center", va="center", fontsize=7)
    for x, y, word in ((13, 1, "accepted"), (11, 3, "on probation"), (5, 11, "rejected")):
        axes.text(x, y, word, ha="center", va="center", weight="bold")
    axes.set(xlabel="W: only the candidate is right", ylabel="L: only the baseline is right")


def draw_power(axes: Axes) -> None:
    lifts = [k / 20 for k in range(8)]
    for n, colour, mark in ((20, ORANGE, "s"), (40, BLUE, "o")):
        gate = Gate(n_max=n, rung=n)
        rates = [gate_rates(simulated(n, ACCURACY, x, CHURN, RUNS, (n, x)), gate, (n, x)) for x in lifts]
        axes.plot(
            lifts, [rate.accepted for rate in rates], mark + "-", color=colour, label=f"ladder of {n} units"
        )
        axes.plot(lifts, [rate.confirmed for rate in rates], mark + ":", color=colour, markersize=3)
    axes.xaxis.set_major_formatter("+{x:.0%}")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.set(
        xlabel="how much better the candidate is in truth", ylabel="share that is let in", ylim=(0, 1.03)
    )
    axes.legend(frameon=False)


# Lift, seed, colour, mark of each candidate in the first figure
PATHS = (
    (0.4, 3, GREEN, "o"),
    (0.15, 2, ORANGE, "s"),
    (0.0, 5, BLUE, "^"),
    (-0.3, 5, VERMILION, "v"),
)
FIGURES = {
    "gate_paths": (draw_paths, (8, 4)),
    "gate_map": (draw_map, (5.5, 5.5)),
    "gate_power": (draw_power, (6.5, 4)),
}


def main(folder: Path) -> None:
    with mpl.rc_context(STYLE):
        for name, (draw, size) in FIGURES.items():
            figure = Figure(size, layout="constrained")
            draw(figure.subplots())
            figure.savefig(folder / f"{name}.svg", metadata=BARE)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
