"""What a diagnosis hands to an update (SPEC §2 "case pack", §4)."""

from typing import Literal

from pydantic import Field

from skillmake.artifacts import Artifact


class Case(Artifact):
    """One rollout as a teacher sees it. `near`: worked examples closest to the question, best first.

    Judged cases only: `verdict` (wrong answers), `blame` (`skill`, `system` or `tool <name>`: the text that
    is to blame) and `notes` (what the judges found).
    """

    question_id: str
    unit_id: str
    question: str
    options: tuple[str, ...] | None
    answer: str
    prediction: str | None
    right: bool
    near: tuple[str, ...] = ()
    verdict: Literal["defect", "lapse"] | None = None
    blame: str = ""
    notes: tuple[str, ...] = ()


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

    @property
    def editable(self) -> tuple[Case, ...]:
        """The cases that an edit may be made for: all but the lapses (SPEC §4)."""
        return tuple(case for case in self.cases if case.verdict != "lapse")

    @property
    def only_lapses(self) -> bool:
        """Whether the agent failed, and never because of the text."""
        failed = [case for case in self.cases if not case.right]
        return bool(failed) and all(case.verdict == "lapse" for case in failed)


class Judging(Artifact):
    """What judging one question took: keys and tokens of its calls; `degraded`: why nothing came of it."""

    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    degraded: str = ""


class Diagnosis(Artifact):
    """All packs of one step.

    `skill`: by task type; `tools`: by tool name; `soft`: by question, in [0, 1]; what no judge scored has
    its hard outcome there. `judgings`: by question that was judged. `degraded`: cases whose judges gave no
    usable answer (always 0 in a rule-based diagnosis).
    """

    method: str
    skill: dict[str, Pack]
    system: Pack
    tools: dict[str, Pack]
    soft: dict[str, float]
    degraded: int
    judgings: dict[str, Judging] = Field(default_factory=dict)
