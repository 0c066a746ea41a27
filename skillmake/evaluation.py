"""A version measured on every question of a run: accuracy per task type and pool, with intervals."""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import NormalDist

from skillmake.agent.loop import Prediction
from skillmake.artifacts import Artifact
from skillmake.benchmark import Benchmark
from skillmake.metrics import CONFIDENCE
from skillmake.rollout import Rollout
from skillmake.state import outcomes_by_unit
from skillmake.terminal import share, table_text
from skillmake.units import Unit

ALL = "all"


class Measured(Artifact):
    """Units, those that are right, and the interval of the share; `failed`: units without an outcome."""

    units: int
    right: int
    failed: int
    interval: tuple[float, float]

    @property
    def accuracy(self) -> float | None:
        return self.right / self.units if self.units else None


class EvalReport(Artifact):
    """All types together and each by itself; in both, by pool, where `all` is every unit.

    `skills`, `prompts`: digests; `student`: who answered.
    """

    skills: str
    prompts: str
    student: str
    overall: dict[str, Measured]
    by_type: dict[str, dict[str, Measured]]


def evaluate(
    rollout: Rollout, benchmark: Benchmark, pools: Mapping[str, Sequence[str]], student: str
) -> EvalReport:
    """`pools`: unit ids by name of the pool; a type that is not trained is measured as well."""
    members = {name: [benchmark.units[unit_id] for unit_id in ids] for name, ids in pools.items()}
    members = {ALL: [unit for units in members.values() for unit in units], **members}
    types = sorted({unit.task_type for unit in members[ALL]})
    by_type = {
        task_type: {
            pool: measure([unit for unit in units if unit.task_type == task_type], rollout.rows)
            for pool, units in members.items()
        }
        for task_type in types
    }
    return EvalReport(
        skills=rollout.skills,
        prompts=rollout.prompts,
        student=student,
        overall={pool: measure(units, rollout.rows) for pool, units in members.items()},
        by_type=by_type,
    )


def measure(units: Sequence[Unit], rows: Iterable[Prediction]) -> Measured:
    """Outcomes of the units; one whose rollout failed has none and is not counted as wrong."""
    outcomes = outcomes_by_unit(units, rows)
    right = sum(outcomes.values())
    return Measured(
        units=len(outcomes),
        right=right,
        failed=len(units) - len(outcomes),
        interval=wilson(right, len(outcomes)),
    )


def wilson(right: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Score interval of a share (Wilson 1927, "Probable inference"); (0, 1) for no units."""
    if not n:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p = right / n
    centre = p + z * z / (2 * n)
    spread = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((centre + sign * spread) / (1 + z * z / n) for sign in (-1, 1))
    return round(max(low, 0.0), 6), round(min(high, 1.0), 6)


def report_text(report: EvalReport) -> str:
    """The report as a table: every unit with its interval, then the accuracy in each pool."""
    title = f"Skills {report.skills} with prompts {report.prompts}, answered by {report.student}"
    pools = [pool for pool in report.overall if pool != ALL]
    rows = []
    for name, measured in [*report.by_type.items(), (ALL, report.overall)]:
        every = measured[ALL]
        low, high = every.interval
        each = [f"{share(measured[pool].accuracy)} of {measured[pool].units}" for pool in pools]
        rows.append((name, str(every.units), share(every.accuracy), f"{low:.3f} … {high:.3f}", *each))
    table = table_text(title, ("task type", "units", "accuracy", "95 % interval", *pools), rows)
    failed = report.overall[ALL].failed
    return table + (f"{failed} units have no outcome: their rollouts failed.\n" if failed else "")
