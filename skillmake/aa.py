"""A/A test on the user's own benchmark: a candidate that is the baseline, at the gate (SPEC §6.1)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import sqrt

from skillmake.agent.loop import Agent, check_errors
from skillmake.artifacts import Artifact
from skillmake.benchmark import questions_of
from skillmake.config.models import Gate
from skillmake.errors import ConfigError, TrainingAborted
from skillmake.evidence import e_value
from skillmake.power import Outcomes, gate_rates
from skillmake.start import Start
from skillmake.terminal import number, share, table_text
from skillmake.units import seeded, unit_right


class AaRow(Artifact):
    """One task type, or all of them.

    `units`: validation units with an outcome in every draw; `left_out`: those with an error; `accuracy`:
    mean over draws; `churn`: share of units whose outcome differs between two draws, mean over pairs of
    draws; `false_confirm`, `false_provisional`: shares of the no-ops that the gate let in; `units_no_op`:
    mean units it asked.
    """

    task_type: str
    units: int
    left_out: int
    accuracy: float
    churn: float
    false_confirm: float
    false_provisional: float
    units_no_op: float


class AaReport(Artifact):
    """What an A/A test found.

    `bound`: 1/e_confirm; `runs`: no-ops in all; `standard_error`: of a false confirm rate that is at the
    bound; `drift_wins`, `drift_losses`: units that only the last and only the first draw gets right;
    `drift_e`: evidence that the two are not exchangeable, the mean of e(W,L) and its mirror.
    """

    draws: int
    repeats: int
    runs: int
    bound: float
    standard_error: float
    types: tuple[AaRow, ...]
    overall: AaRow
    drift_wins: int
    drift_losses: int
    drift_e: float

    @property
    def dishonest(self) -> bool:
        """Whether false confirms are above the bound by more than two standard errors."""
        return self.overall.false_confirm > self.bound + 2 * self.standard_error

    @property
    def drifts(self) -> bool:
        return self.drift_e >= 1 / self.bound


def aa_test(start: Start, agent: Agent, draws: int, repeats: int) -> AaReport:
    """Draw every validation unit `draws` times with the seed texts and gate `repeats` no-ops per type.

    ConfigError: fewer than two draws or no repeat. TrainingAborted: too many errors in a draw.
    """
    for name, value, least in (("draws", draws, 2), ("repeats", repeats, 1)):
        if value < least:
            raise ConfigError(f"--{name}: {value} is fewer than {least}")
    seen = draw_units(start, agent, draws)
    whole: dict[str, list[list[bool]]] = {}
    left_out: Counter[str] = Counter()
    for unit in start.benchmark.validation:
        outcomes = [right for right in seen[unit.unit_id] if right is not None]
        if len(outcomes) == draws:
            whole.setdefault(unit.task_type, []).append(outcomes)
        else:
            left_out[unit.task_type] += 1
    if not whole:
        raise TrainingAborted("no validation unit was answered in every draw", "repair the endpoint")
    return report(whole, left_out, start.config.gate, repeats, start.config.seed)


def draw_units(start: Start, agent: Agent, draws: int) -> dict[str, list[bool | None]]:
    """Outcomes of each validation unit, one per draw; None after an error.

    A draw is a replicate with cache keys of its own: really asked, also at temperature 0, and paid once.
    """
    config, units = start.config, start.benchmark.validation
    seen: dict[str, list[bool | None]] = {unit.unit_id: [] for unit in units}
    for replicate in range(draws):
        rows = agent.run(questions_of(units), start.texts, replicate=replicate)
        check_errors(rows, config.train.max_error_share, agent.name)
        right = {row.question_id: row.right for row in rows}
        for unit in units:
            seen[unit.unit_id].append(unit_right(unit, right))
    return seen


def report(
    by_type: Mapping[str, Sequence[Outcomes]],
    left_out: Mapping[str, int],
    gate: Gate,
    repeats: int,
    seed: int,
) -> AaReport:
    """The report on outcomes: task type → unit → draws, each unit in as many."""
    rows = [
        type_row(name, units, left_out.get(name, 0), gate, repeats, (seed, name))
        for name, units in sorted(by_type.items())
    ]
    everything = [unit for _, units in sorted(by_type.items()) for unit in units]
    wins = sum(unit[-1] and not unit[0] for unit in everything)
    losses = sum(unit[0] and not unit[-1] for unit in everything)
    bound, runs = 1 / gate.e_confirm, repeats * len(rows)
    return AaReport(
        draws=len(everything[0]),
        repeats=repeats,
        runs=runs,
        bound=round(bound, 6),
        standard_error=round(sqrt(bound * (1 - bound) / runs), 6),
        types=tuple(rows),
        overall=_overall(rows, everything),
        drift_wins=wins,
        drift_losses=losses,
        drift_e=round((e_value(wins, losses) + e_value(losses, wins)) / 2, 6),
    )


def type_row(
    task_type: str,
    units: Sequence[Outcomes],
    left_out: int,
    gate: Gate,
    repeats: int,
    seed: tuple[object, ...],
) -> AaRow:
    """One type: its units' outcomes, and the gate on `repeats` no-ops made of them."""
    rates = gate_rates(no_ops(units, repeats, seed), gate, ("aa", *seed))
    return AaRow(
        task_type=task_type,
        units=len(units),
        left_out=left_out,
        accuracy=accuracy(units),
        churn=churn(units),
        false_confirm=rates.confirmed,
        false_provisional=rates.provisional,
        units_no_op=rates.units,
    )


def no_ops(
    units: Sequence[Outcomes], repeats: int, seed: tuple[object, ...]
) -> Iterator[tuple[list[bool], list[bool]]]:
    """(baseline, candidate) outcomes: two different draws of each unit, chosen at random.

    Draws of one text are exchangeable, so which of the two is called the candidate is a coin flip per unit:
    the randomisation null of a paired test (Fisher 1935).
    """
    random = seeded("aa", *seed)
    for _ in range(repeats):
        pairs = [random.sample(list(unit), 2) for unit in units]
        yield [first for first, _ in pairs], [second for _, second in pairs]


def accuracy(units: Sequence[Outcomes]) -> float:
    """Share of right outcomes over all units and draws."""
    return round(sum(map(sum, units)) / sum(map(len, units)), 6)


def churn(units: Sequence[Outcomes]) -> float:
    """Share of units whose outcome differs between two draws, mean over pairs of draws."""
    pairs = [one != other for unit in units for one, other in combinations(unit, 2)]
    return round(sum(pairs) / len(pairs), 6)


def _overall(rows: Sequence[AaRow], units: Sequence[Outcomes]) -> AaRow:
    """All types as one: every type has the same number of no-ops."""
    return AaRow(
        task_type="all",
        units=len(units),
        left_out=sum(row.left_out for row in rows),
        accuracy=accuracy(units),
        churn=churn(units),
        false_confirm=round(sum(row.false_confirm for row in rows) / len(rows), 6),
        false_provisional=round(sum(row.false_provisional for row in rows) / len(rows), 6),
        units_no_op=round(sum(row.units_no_op for row in rows) / len(rows), 3),
    )


def aa_text(found: AaReport) -> str:
    """All that `skillmake aa-test` prints."""
    columns = ("task type", "units", "accuracy", "churn", "false confirm", "false provisional", "no-op")
    rows = [
        (
            row.task_type,
            str(row.units),
            share(row.accuracy),
            share(row.churn),
            share(row.false_confirm),
            share(row.false_provisional),
            number(row.units_no_op),
        )
        for row in (*found.types, found.overall)
    ]
    title = f"Seed texts against themselves: {found.draws} draws, {found.repeats} no-ops per type"
    return "\n".join([table_text(title, columns, rows), *verdict(found), ""])


def verdict(found: AaReport) -> list[str]:
    """Lines that say whether the gate can be trusted here, and what to look at when it cannot."""
    above = "above the bound by more than" if found.dishonest else "not above the bound by more than"
    lines = [
        "no-op: mean validation units asked of a candidate that is the baseline; false: let in by the gate",
        f"false confirms: {found.overall.false_confirm:.4f} of {found.runs:,}, bound 1/e_confirm = "
        f"{found.bound:.4f}: {above} 2 standard errors ({2 * found.standard_error:.4f})",
        f"last draw against first: {found.drift_wins} wins, {found.drift_losses} losses, "
        f"evidence of a change {found.drift_e:.2f}",
    ]
    if found.overall.left_out:
        lines.append(f"{found.overall.left_out} units with an error are left out")
    if not found.overall.churn:
        lines.append("no outcome changed between draws: there was no noise that could mislead the gate")
    if found.dishonest:
        lines.append("warning: look for noise of the infrastructure or of the grader before you train")
    if found.drifts:
        lines.append(
            "warning: draws differ more than chance allows: the endpoint, the model behind it or the grader "
            "changed meanwhile"
        )
    return lines
