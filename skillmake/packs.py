"""What a diagnosis hands to an update (SPEC §2 "case pack", §4)."""

from skillmake.artifacts import Artifact


class Case(Artifact):
    """One rollout as a teacher sees it. `near`: worked examples closest to the question, best first.

    `missed`: nodes that hold the answer and that the agent did not read, where the data knows them.
    """

    question_id: str
    unit_id: str
    question: str
    options: tuple[str, ...] | None
    answer: str
    prediction: str | None
    right: bool
    near: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()


class Confusion(Artifact):
    """How often `answer` was taken for `prediction`."""

    answer: str
    prediction: str
    count: int


class Pack(Artifact):
    """Failures and successes for one text, with what they have in common."""

    cases: tuple[Case, ...] = ()
    confusions: tuple[Confusion, ...] = ()

    @property
    def units(self) -> list[str]:
        return sorted({case.unit_id for case in self.cases})


class Diagnosis(Artifact):
    """All packs of one step.

    `skill`: by task type; `tools`: by tool name; `soft`: by question, in [0, 1].
    `degraded`: cases whose judges gave no usable answer (always 0 in a rule-based diagnosis).
    """

    method: str
    skill: dict[str, Pack]
    system: Pack
    tools: dict[str, Pack]
    soft: dict[str, float]
    degraded: int
