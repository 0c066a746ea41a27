"""A candidate: an edited skill that is not trusted yet (SPEC §2)."""

from typing import Literal

from skillmake.artifacts import Artifact
from skillmake.edits import Edit, EditReport
from skillmake.gate import Tally


class Candidate(Artifact):
    """An edited skill that is not trusted yet; with `skipped` it never reaches the gate.

    `ranked`: the teacher's ranking of the edits by which the budget clipped them, where it gave one.
    `prior`, `steps_carried`: evidence from earlier ladders, whose units are then among `pack_units`.
    """

    task_type: str
    path: str
    status: Literal["proposed", "skipped"]
    reason: str = ""
    parent: str
    text: str
    reports: tuple[EditReport, ...] = ()
    clipped: bool = False
    ranked: tuple[int, ...] | None = None
    budget: int
    pack_units: tuple[str, ...] = ()
    prior: Tally = Tally()
    steps_carried: int = 0
    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def applied(self) -> tuple[Edit, ...]:
        return tuple(r.edit for r in self.reports if r.status in ("applied", "applied_fuzzy"))
