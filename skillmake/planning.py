"""What the gates of a run can see, before money is spent (SPEC §6.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from skillmake.artifacts import Artifact
from skillmake.batching import plan_batches
from skillmake.config.models import Config, Gate
from skillmake.errors import ConfigError, DataError
from skillmake.ledger import confirm_threshold
from skillmake.power import gate_rates, simulated, smallest_lift, wins_needed
from skillmake.settle import check_one_type_per_file
from skillmake.start import Start
from skillmake.units import Unit, seeded_shuffle

LARGE_LIFT = 0.3  # more than an edit of one text plausibly brings
SIMULATIONS = 300  # of each lift that is tried: a share of .8 has a standard error of .023


@dataclass(frozen=True)
class Assumed:
    """What is not known yet. `accuracy`: share of units right with the seed texts; `churn`: share of units
    whose outcome differs between two texts that are equally good; `power`: probability with which a good
    candidate is to be accepted. ConfigError when one is out of bounds."""

    accuracy: float = 0.5
    churn: float = 0.05
    power: float = 0.8

    def __post_init__(self) -> None:
        bounds = {"accuracy": (0.0, 0.99), "churn": (0.0, 0.5), "power": (0.01, 0.99)}
        for name, (low, high) in bounds.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"--{name}: {value:g} is not in {low:g} … {high:g}", "it is a share, not %")


@dataclass(frozen=True)
class Trial:
    """The batches of the first epoch as they would be if a share `accuracy` of each type were right."""

    batches: tuple[tuple[Unit, ...], ...]
    right: Mapping[str, bool]

    def in_batch(self, task_type: str) -> list[int]:
        """Units of the type in each batch that has any."""
        counts = [sum(unit.task_type == task_type for unit in batch) for batch in self.batches]
        return [count for count in counts if count]


class TypePlan(Artifact):
    """What the gate can see of one trainable type, in units.

    `batch`: units in an average batch; `ladder`: units that can judge a candidate; `gates`: candidates in
    an epoch; `accept_wins`, `confirm_wins`: fewest wins without a loss that are accepted (on probation at
    least) and confirmed, more than `ladder` where that cannot be; `lift`: smallest lift accepted at the
    asked power, None where no lift is; `units_no_op`, `units_good`: mean units asked of a candidate that
    brings nothing but churn, and of one at that lift.
    """

    task_type: str
    diagnosis: int
    validation: int
    batch: int
    ladder: int
    gates: int
    accept_wins: int
    confirm_wins: int
    lift: float | None = None
    units_no_op: float = 0.0
    units_good: float | None = None

    @property
    def acceptable(self) -> bool:
        return self.accept_wins <= self.ladder

    @property
    def confirm_lift(self) -> float | None:
        """Smallest lift that could be confirmed at all: the fewest wins of all units, and no loss."""
        return self.confirm_wins / self.ladder if self.confirm_wins <= self.ladder else None


class Sight(Artifact):
    """What a gate on a ladder of some length can see; the words are those of TypePlan."""

    lift: float | None
    units_no_op: float
    units_good: float | None


def trial(start: Start, assumed: Assumed) -> Trial:
    """Batches of epoch 1, dealt by the code of the training."""
    config, diagnosis = start.config, start.benchmark.diagnosis
    right: dict[str, bool] = {}
    for task_type in start.benchmark.trainable:
        own = [unit for unit in diagnosis if unit.task_type == task_type]
        order = seeded_shuffle(own, lambda unit: unit.unit_id, "trial", config.seed)
        most = round(assumed.accuracy * len(order))
        right |= {unit.unit_id: place < most for place, unit in enumerate(order)}
    batches = plan_batches(
        diagnosis,
        right,
        config.train.batch_size,
        config.train.min_class_per_batch,
        config.train.batch_correct_ratio,
        f"{config.seed}:1",
    )
    units = start.benchmark.units
    return Trial(tuple(tuple(units[unit_id] for unit_id in batch) for batch in batches), right)


def plan_types(start: Start, assumed: Assumed, batches: Trial, runs: int = SIMULATIONS) -> list[TypePlan]:
    """One TypePlan per trainable type, sorted by type; equal ladders are simulated once, `runs` times a lift.

    DataError: no type can have a candidate accepted, or two types of one batch share a skill file.
    """
    blind = counted(start, batches)
    if start.config.train.epochs:  # without an epoch the run only measures the seed
        _refuse_if_blind(blind)
    lengths = sorted({plan.ladder for plan in blind if plan.acceptable})
    sights = {n: sight(n, start.config, assumed, runs) for n in lengths}
    return [plan.model_copy(update=dict(sights[plan.ladder])) if plan.acceptable else plan for plan in blind]


def counted(start: Start, batches: Trial) -> list[TypePlan]:
    """The part of each TypePlan that needs no simulation; DataError as `plan_types`."""
    for batch in batches.batches:
        check_one_type_per_file(sorted({unit.task_type for unit in batch}), start.texts)
    return [_counts(start, task_type, k, batches) for k, task_type in enumerate(start.benchmark.trainable)]


def sight(n: int, config: Config, assumed: Assumed, runs: int) -> Sight:
    """Simulated candidates on a ladder of n units."""
    gate, seed = config.gate, ("plan", config.seed, n)
    accuracy, churn = assumed.accuracy, assumed.churn
    lift = smallest_lift(n, accuracy, churn, gate, assumed.power, runs, seed)

    def units(of: float) -> float:
        return gate_rates(simulated(n, accuracy, of, churn, runs, seed), gate, seed).units

    return Sight(lift=lift, units_no_op=units(0.0), units_good=None if lift is None else units(lift))


def fewest_wins(threshold: float, net: int, n: int, gate: Gate) -> int:
    """Fewest wins without a loss on n units that reach the evidence `threshold`, W - L of at least `net`
    and `gate.delta_min`; more than n where n units are too few."""
    for_lift = ceil(round(gate.delta_min * (n + gate.lambda_dir), 9))
    return max(wins_needed(threshold, gate), net, for_lift)


def _counts(start: Start, task_type: str, number: int, batches: Trial) -> TypePlan:
    gate, benchmark = start.config.gate, start.benchmark
    diagnosis, validation = (
        sum(unit.task_type == task_type for unit in pool)
        for pool in (benchmark.diagnosis, benchmark.validation)
    )
    dealt = batches.in_batch(task_type)
    batch = ceil(sum(dealt) / len(dealt)) if dealt else 0
    ladder = min(gate.n_max, validation + (diagnosis - batch if gate.use_diagnosis else 0))
    confirm_wins = fewest_wins(confirm_threshold((), number + 1, gate), 0, ladder, gate)
    return TypePlan(
        task_type=task_type,
        diagnosis=diagnosis,
        validation=validation,
        batch=batch,
        ladder=ladder,
        gates=len(dealt),
        accept_wins=min(confirm_wins, fewest_wins(gate.e_provisional, gate.w_net_min, ladder, gate)),
        confirm_wins=confirm_wins,
    )


def _refuse_if_blind(plans: Sequence[TypePlan]) -> None:
    if any(plan.acceptable for plan in plans):
        return
    rows = "".join(
        f"\n  {plan.task_type}: needs {plan.accept_wins} wins, its ladder has {plan.ladder} units "
        f"({plan.validation} validation, {plan.diagnosis} diagnosis of which {plan.batch} are in a batch)"
        for plan in plans
    )
    raise DataError(
        f"no candidate could ever be accepted:{rows}",
        "add questions, raise data.pools.validation or gate.n_max, "
        "or lower gate.min_discordant, gate.e_provisional, gate.w_net_min or gate.delta_min",
    )


def sight_warnings(plans: Sequence[TypePlan], assumed: Assumed) -> list[str]:
    """A line per type whose ladder cannot find anything plausible."""
    out = []
    for plan in plans:
        seen = f"{plan.task_type}: {plan.ladder} ladder units"
        if not plan.acceptable:
            out.append(f"{seen} can accept no candidate at all: add questions of this type")
        elif plan.lift is None:
            most = f"no lift up to {1 - assumed.accuracy:.2f}"
            out.append(f"{seen} accept {most} with probability {assumed.power:.2f}: add questions")
        elif plan.lift > LARGE_LIFT:
            out.append(
                f"{seen} need a lift of {plan.lift:.2f}; an edit rarely brings more than {LARGE_LIFT:.2f}: "
                "add questions of this type"
            )
    return out
