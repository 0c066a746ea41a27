"""State is a value: each settling and each epoch end writes the next one (DESIGN §2)."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from skillmake.agent.loop import Observation, Prediction
from skillmake.artifacts import Artifact
from skillmake.candidate import Candidate
from skillmake.edits import Edit
from skillmake.gate import GateNumbers
from skillmake.ledger import LedgerRow
from skillmake.units import Unit, unit_right


class RejectedEdit(Artifact):
    """What was tried and did not work: the edits really applied, and the gate's numbers."""

    edits: tuple[Edit, ...]
    numbers: GateNumbers
    step: int
    why: str


class Probation(Artifact):
    """A provisional accept that full validation has still to confirm.

    `anchor_text`: the file before the merge; `snapshot`: what was known of the type's
    validation questions then;
    `edits`: all accepted edits of the file since; `validations`: full validations it has lasted.
    """

    task_type: str
    path: str
    anchor: str
    anchor_text: str
    snapshot: dict[str, Observation]
    edits: tuple[Edit, ...]
    opened_step: int
    validations: int = 0


class VersionNote(Artifact):
    """Where a version comes from."""

    digest: str
    parent: str | None
    kind: str
    source: str
    epoch: int
    step: int
    description: str


class Best(Artifact):
    """The best measured version so far; `accuracy` is that of full validation, in units."""

    skills: str
    prompts: str
    accuracy: float
    epoch: int


class State(Artifact):
    """Everything the next step needs besides the texts.

    `correctness`: last observation by question (validation and diagnosis only); `p_hat`: moving
    average of outcomes by unit; `seen`: this epoch's outcomes that p̂ has not taken in yet; `carried`:
    candidates by type that came close and go on with fresh units; `ledger`: every test of the run.
    """

    epoch: int
    step: int
    total_steps: int
    correctness: dict[str, Observation]
    p_hat: dict[str, float] = Field(default_factory=dict)
    seen: dict[str, tuple[bool, ...]] = Field(default_factory=dict)
    rejected: dict[str, tuple[RejectedEdit, ...]] = Field(default_factory=dict)
    probations: dict[str, Probation] = Field(default_factory=dict)
    cooldowns: dict[str, int] = Field(default_factory=dict)
    carried: dict[str, Candidate] = Field(default_factory=dict)
    ledger: tuple[LedgerRow, ...] = ()
    best: Best
    epochs_without_best: int = 0
    versions: tuple[VersionNote, ...] = ()

    def unit_outcomes(self, units: Iterable[Unit]) -> dict[str, bool | None]:
        """Last known outcome of each unit."""
        return unit_outcomes(units, self.correctness)


def unit_outcomes(units: Iterable[Unit], observed: Mapping[str, Observation]) -> dict[str, bool | None]:
    """Outcome of each unit under observations of its questions; None where one is missing."""
    right = {qid: seen.right for qid, seen in observed.items()}
    return {unit.unit_id: unit_right(unit, right) for unit in units}


def observe(correctness: Mapping[str, Observation], rows: Iterable[Prediction]) -> dict[str, Observation]:
    """Fold rollouts in; one that ended in an error leaves what was known."""
    out = dict(correctness)
    for row in rows:
        if row.right is not None and row.replicate == 0:
            out[row.question_id] = row.observation
    return out


def outcomes_by_unit(units: Iterable[Unit], rows: Iterable[Prediction]) -> dict[str, bool]:
    """Outcome of each unit that `rows` cover whole and without error."""
    right = {row.question_id: row.right for row in rows if row.replicate == 0}
    found = {unit.unit_id: unit_right(unit, right) for unit in units}
    return {unit_id: outcome for unit_id, outcome in found.items() if outcome is not None}


def accuracy(outcomes: Mapping[str, bool]) -> float:
    """Share of units that are right; nan-free: 0 for no units."""
    return round(sum(outcomes.values()) / len(outcomes), 6) if outcomes else 0.0
