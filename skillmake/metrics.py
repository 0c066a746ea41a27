"""The result of a run: seed against delivered on the sealed test, edits, calls."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

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


@dataclass
class Usage:
    """What an empty cache would pay for; `hits`: answers that were known by then."""

    calls: int = 0
    hits: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


Label = TypeVar("Label", bound=Hashable)


def usage(asked: Iterable[tuple[Label, Paid]]) -> dict[Label, Usage]:
    """Calls and tokens under each label; a call counts where its key is met for the first time.

    Counted from the artefacts, so the same run gives the same numbers whatever the cache held; what
    was really paid is in the run's log.
    """
    seen: set[str] = set()
    out: dict[Label, Usage] = {}
    for label, paid in asked:
        counted = out.setdefault(label, Usage())
        if getattr(paid, "looked_up", False):
            counted.hits += 1
            continue
        new = [call for call in paid.calls if call not in seen]
        counted.hits += len(paid.calls) - len(new)
        counted.calls += len(new)
        if new:
            counted.prompt_tokens += paid.prompt_tokens
            counted.completion_tokens += paid.completion_tokens
        seen.update(paid.calls)
    return out


def call_counts(
    rows: Iterable[Prediction], taught: Iterable[Paid], judged: Iterable[Paid] = ()
) -> dict[str, Any]:
    """Calls that this run needs from an empty cache, by role; a repeat is a cache hit."""
    asked = [("student", rows), ("teacher", taught), ("judge", judged)]
    found = usage((role, paid) for role, each in asked for paid in each)
    counts = {role: found.get(role, Usage()).calls for role, _ in asked}
    return {
        "calls": {**counts, "cache_hits": sum(each.hits for each in found.values())},
        "tokens": {
            "prompt": sum(each.prompt_tokens for each in found.values()),
            "completion": sum(each.completion_tokens for each in found.values()),
        },
    }


@dataclass(frozen=True)
class RunFiles:
    """The artefacts that a run's result is read from, each list in order of time; `test` may be to come."""

    baseline: Rollout
    rollouts: list[Rollout]
    gates: list[GateResult]
    validations: list[Validation]
    test: Rollout | None
    diagnoses: list[Diagnosis] = field(default_factory=list)
    momenta: list[MomentumReport] = field(default_factory=list)
    prompts: list[PromptsReport] = field(default_factory=list)
    softs: list[SoftScores] = field(default_factory=list)
    seconds: list[SecondValidation] = field(default_factory=list)
    holdouts: list[Holdout] = field(default_factory=list)

    def rows_by_phase(self) -> Iterator[tuple[str, Prediction]]:
        """All predictions with their phase, as in the table `predictions`."""
        gates, momenta = self.gates, self.momenta
        checks = [check for momentum in momenta for check in momentum.checks]
        seconds = [second.slow_candidate for second in self.seconds if second.slow_candidate]
        phases: tuple[tuple[str, Iterable[Iterable[Prediction]]], ...] = (
            ("baseline", [self.baseline.rows]),
            ("step", [rollout.rows for rollout in self.rollouts]),
            ("gate", [rows for gate in gates for rows in (gate.baseline_rows, gate.candidate_rows)]),
            ("validation", [validation.rows for validation in self.validations]),
            ("momentum", [momentum.rows for momentum in momenta]),
            (
                "momentum_gate",
                [rows for check in checks for rows in (check.baseline_rows, check.changed_rows)],
            ),
            ("validation2", [second.rows for second in seconds]),
            ("holdout", [holdout.rows for holdout in self.holdouts]),
            ("final_test", [self.test.rows] if self.test else []),
        )
        for phase, many in phases:
            for rows in many:
                yield from ((phase, row) for row in rows)

    def rows(self) -> Iterator[Prediction]:
        """All predictions."""
        yield from (row for _, row in self.rows_by_phase())

    def taught_by_phase(self) -> Iterator[tuple[str, Paid]]:
        """All that a teacher was asked for."""
        yield from (("evolve", gate.candidate) for gate in self.gates)
        for momentum in self.momenta:
            yield from (("momentum", file) for file in momentum.files)
        for prompts in self.prompts:
            yield from (("prompts", candidate) for candidate in prompts.candidates)

    def taught(self) -> Iterator[Paid]:
        yield from (paid for _, paid in self.taught_by_phase())

    def judged_by_phase(self) -> Iterator[tuple[str, Paid]]:
        """All that the judges were asked for."""
        for diagnosis in self.diagnoses:
            yield from (("diagnose", judging) for judging in diagnosis.judgings.values())
        for soft in (*self.softs, *(second.soft for second in self.seconds if second.soft)):
            yield from (("soft scores", judging) for judging in soft.judgings.values())

    def judged(self) -> Iterator[Paid]:
        yield from (paid for _, paid in self.judged_by_phase())

    def usage_by_phase(self) -> dict[tuple[str, str], Usage]:
        """Calls and tokens by (phase, role); their sums are those of `call_counts`."""
        roles = (
            ("student", self.rows_by_phase()),
            ("teacher", self.taught_by_phase()),
            ("judge", self.judged_by_phase()),
        )
        return usage(((phase, role), paid) for role, asked in roles for phase, paid in asked)


def run_metrics(
    run: str, files: RunFiles, best: BestReport, benchmark: Benchmark, seed: int
) -> dict[str, Any]:
    """The content of metrics.json. `run`: the run's name, `seed`: of the confidence intervals."""
    assert files.test is not None
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
