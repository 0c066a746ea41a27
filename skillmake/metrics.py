"""The result of a run: seed against delivered on the sealed test, edits, calls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from skillmake.agent.loop import Prediction
from skillmake.benchmark import Benchmark
from skillmake.holdout import Holdout
from skillmake.ledger import expected_false, ledger_row
from skillmake.momentum import MomentumReport
from skillmake.packs import Diagnosis
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.questions import slug
from skillmake.rollout import Rollout
from skillmake.scores import SoftScores
from skillmake.settle import GateResult
from skillmake.slow import BestReport, Validation
from skillmake.state import accuracy, outcomes_by_unit
from skillmake.units import Unit, seeded

BOOTSTRAP_DRAWS = 4000
CONFIDENCE = 0.95


def paired_gain(
    before: Mapping[str, bool], after: Mapping[str, bool], seed: tuple[object, ...]
) -> dict[str, Any]:
    """Accuracy of both sides over the units that both have, and the gain with its interval.

    The interval is a percentile bootstrap over units (Efron & Tibshirani 1993, ch. 13): units are the
    clusters, so a twin pair counts once, and both sides of a unit stay together.
    """
    both = sorted(set(before) & set(after))
    gains = [int(after[unit]) - int(before[unit]) for unit in both]
    return {
        "seed": {"accuracy": accuracy({unit: before[unit] for unit in both})},
        "delivered": {"accuracy": accuracy({unit: after[unit] for unit in both})},
        "gain": round(sum(gains) / len(gains), 6) if gains else 0.0,
        "gain_ci": bootstrap_interval(gains, seed),
        "units": len(both),
    }


def bootstrap_interval(values: Sequence[float], seed: tuple[object, ...]) -> list[float]:
    """[low, high] of the mean of `values` at CONFIDENCE; [0, 0] for no values."""
    if not values:
        return [0.0, 0.0]
    random = seeded("bootstrap", *seed)
    means = sorted(sum(random.choices(values, k=len(values))) / len(values) for _ in range(BOOTSTRAP_DRAWS))
    tail = round((1 - CONFIDENCE) / 2 * BOOTSTRAP_DRAWS)
    return [round(means[tail], 6), round(means[-tail - 1], 6)]


def test_result(
    units: Sequence[Unit],
    seed_rows: Sequence[Prediction],
    delivered_rows: Sequence[Prediction],
    seed: int,
) -> dict[str, Any]:
    """Overall and per type."""
    before, after = outcomes_by_unit(units, seed_rows), outcomes_by_unit(units, delivered_rows)
    by_type = {}
    for task_type in sorted({unit.task_type for unit in units}):
        ids = {unit.unit_id for unit in units if unit.task_type == task_type}
        by_type[task_type] = paired_gain(
            {u: right for u, right in before.items() if u in ids},
            {u: right for u, right in after.items() if u in ids},
            (seed, task_type),
        )
    return {**paired_gain(before, after, (seed,)), "by_type": by_type}


def edit_counts(gates: Iterable[GateResult]) -> dict[str, int]:
    """Candidates by what became of them; `tried` are those that reached the gate."""
    names = {
        "accept": "accepted",
        "accept_provisional": "provisional",
        "reject": "rejected",
        "inconclusive": "inconclusive",
    }
    out = dict.fromkeys(("tried", *names.values(), "skipped"), 0)
    for gate in gates:
        if gate.decision is None:
            out["skipped"] += 1
        else:
            out["tried"] += 1
            out[names[gate.decision.action]] += 1
    return out


class Paid(Protocol):
    """What a model was asked for."""

    @property
    def calls(self) -> tuple[str, ...]: ...
    @property
    def prompt_tokens(self) -> int: ...
    @property
    def completion_tokens(self) -> int: ...


def call_counts(
    rows: Iterable[Prediction], taught: Iterable[Paid], judged: Iterable[Paid] = ()
) -> dict[str, Any]:
    """Calls that this run needs from an empty cache, by role; a repeat is a cache hit.

    Counted from the artefacts, so the same run gives the same numbers whatever the cache held; what
    was really paid is in the run's log.
    """
    seen: set[str] = set()
    out = {"student": 0, "teacher": 0, "judge": 0, "cache_hits": 0}
    tokens = {"prompt": 0, "completion": 0}
    for row in rows:
        if row.looked_up:
            out["cache_hits"] += 1
            continue
        _count(out, tokens, "student", row.calls, row, seen)
    for role, asked in (("teacher", taught), ("judge", judged)):
        for paid in asked:
            if paid.calls:
                _count(out, tokens, role, paid.calls, paid, seen)
    return {"calls": out, "tokens": tokens}


def _count(
    out: dict[str, int],
    tokens: dict[str, int],
    role: str,
    calls: Sequence[str],
    usage: Paid,
    seen: set[str],
) -> None:
    new = [call for call in calls if call not in seen]
    out["cache_hits"] += len(calls) - len(new)
    out[role] += len(new)
    if new:
        tokens["prompt"] += usage.prompt_tokens
        tokens["completion"] += usage.completion_tokens
    seen.update(calls)


@dataclass(frozen=True)
class RunFiles:
    """The artefacts that a run's result is read from, each list in order of time."""

    baseline: Rollout
    rollouts: list[Rollout]
    gates: list[GateResult]
    validations: list[Validation]
    test: Rollout
    diagnoses: list[Diagnosis] = field(default_factory=list)
    momenta: list[MomentumReport] = field(default_factory=list)
    prompts: list[PromptsReport] = field(default_factory=list)
    softs: list[SoftScores] = field(default_factory=list)
    seconds: list[SecondValidation] = field(default_factory=list)
    holdouts: list[Holdout] = field(default_factory=list)

    def rows(self) -> Iterator[Prediction]:
        """All predictions."""
        yield from self.baseline.rows
        for rollout in self.rollouts:
            yield from rollout.rows
        for gate in self.gates:
            yield from gate.baseline_rows
            yield from gate.candidate_rows
        for validation in self.validations:
            yield from validation.rows
        for momentum in self.momenta:
            yield from momentum.rows
            for check in momentum.checks:
                yield from check.baseline_rows
                yield from check.changed_rows
        for second in self.seconds:
            yield from second.slow_candidate.rows if second.slow_candidate else ()
        for holdout in self.holdouts:
            yield from holdout.rows
        yield from self.test.rows

    def taught(self) -> Iterator[Paid]:
        """All that a teacher was asked for."""
        yield from (gate.candidate for gate in self.gates)
        for momentum in self.momenta:
            yield from momentum.files
        for prompts in self.prompts:
            yield from prompts.candidates

    def judged(self) -> Iterator[Paid]:
        """All that the judges were asked for."""
        for diagnosis in self.diagnoses:
            yield from diagnosis.judgings.values()
        for soft in (*self.softs, *(second.soft for second in self.seconds if second.soft)):
            yield from soft.judgings.values()


def run_metrics(
    run: str, files: RunFiles, best: BestReport, benchmark: Benchmark, seed: int
) -> dict[str, Any]:
    """The content of metrics.json. `run`: the run's name, `seed`: of the confidence intervals."""
    ledger = [ledger_row(gate.decision, gate.task_type, 0) for gate in files.gates if gate.decision]
    seed_validation = accuracy(outcomes_by_unit(benchmark.validation, files.baseline.rows))
    return {
        "run": run,
        "test": test_result(benchmark.test, files.baseline.rows, files.test.rows, seed),
        "validation": {"seed": seed_validation, "best": best.best.accuracy, "best_epoch": best.best.epoch},
        "epochs": len(files.validations),
        "steps": len(files.rollouts),
        "edits": edit_counts(files.gates),
        "gate": {"tests": len(ledger), "expected_false": expected_false(ledger)},
        **call_counts(files.rows(), files.taught(), files.judged()),
    }


def curve_csv(files: RunFiles, benchmark: Benchmark) -> str:
    """Validation accuracy by epoch; epoch 0 is the seed."""
    values = [accuracy(outcomes_by_unit(benchmark.validation, files.baseline.rows))]
    values += [validation.accuracy for validation in files.validations]
    return "epoch,validation\n" + "".join(f"{epoch},{value}\n" for epoch, value in enumerate(values))


def gates_csv(files: RunFiles) -> str:
    """One row per gated candidate, in order of time."""
    lines = ["gate,task_type,action,stop_reason,wins,losses,units,e,delta"]
    gated = [gate for gate in files.gates if gate.decision is not None]
    for number, gate in enumerate(gated, 1):
        decision = gate.decision
        assert decision is not None
        n = decision.numbers
        lines.append(
            f"{number},{slug(gate.task_type)},{decision.action},{decision.stop_reason},"
            f"{n.wins},{n.losses},{n.n},{n.e},{n.delta}"
        )
    return "\n".join(lines) + "\n"
