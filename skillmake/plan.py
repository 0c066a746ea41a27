"""The plan of an epoch: its batches, the edit budget of each step, or stop (SPEC §3)."""

from collections.abc import Sequence

from skillmake.artifacts import Artifact
from skillmake.batching import plan_batches
from skillmake.config.models import Evolve
from skillmake.config.train import Train
from skillmake.edits import edit_budget
from skillmake.questions import slug
from skillmake.state import State
from skillmake.units import Unit


class Batch(Artifact):
    """Units of one step, the slugs of their types, and the most edits a candidate may have."""

    units: tuple[str, ...]
    types: tuple[str, ...]
    edit_budget: int


class Plan(Artifact):
    """`stop` says why there is no further epoch; empty when there is one."""

    epoch: int
    stop: str
    batches: tuple[Batch, ...]


def make_plan(
    state: State, epoch: int, diagnosis: Sequence[Unit], train: Train, evolve: Evolve, seed: int
) -> Plan:
    """Batches of epoch `epoch` (1-based) over the diagnosis units of the trainable types."""
    if epoch > train.epochs:
        return Plan(epoch=epoch, stop=f"all {train.epochs} epochs are done", batches=())
    if state.epochs_without_best >= train.early_stop_patience:
        waited = state.epochs_without_best
        return Plan(epoch=epoch, stop=f"{waited} epochs without a new best", batches=())
    types = {unit.unit_id: slug(unit.task_type) for unit in diagnosis}
    batches = [
        Batch(
            units=tuple(sorted(batch)),
            types=tuple(sorted({types[unit_id] for unit_id in batch})),
            edit_budget=edit_budget(
                min(state.step + number, state.total_steps - 1),
                state.total_steps,
                evolve.edit_budget_start,
                evolve.edit_budget_end,
                evolve.schedule,
            ),
        )
        for number, batch in enumerate(batches_of(state, epoch, diagnosis, train, seed))
    ]
    return Plan(epoch=epoch, stop="", batches=tuple(batches))


def batches_of(
    state: State, epoch: int, diagnosis: Sequence[Unit], train: Train, seed: int
) -> list[list[str]]:
    """Unit ids of each batch of an epoch, deterministic in (seed, epoch, correctness)."""
    return plan_batches(
        diagnosis,
        state.unit_outcomes(diagnosis),
        train.batch_size,
        train.min_class_per_batch,
        train.batch_correct_ratio,
        f"{seed}:{epoch}",
    )
