"""What each of the seven judges answers (SPEC §4). A step is counted from 1."""

from typing import Literal

from pydantic import field_validator

from skillmake.artifacts import Artifact
from skillmake.structured import Answer

Subtype = Literal[
    "none",
    "misread_question",
    "missed_evidence",
    "misread_evidence",
    "wrong_rule",
    "wrong_inference",
    "wrong_knowledge",
    "slip",
]


class Span(Answer):
    """One step of the trace."""

    step: int
    sound: bool
    why: str


class Spans(Answer):
    """Span evaluation: every step of the trace, sound or flawed."""

    spans: tuple[Span, ...]

    @field_validator("spans")
    @classmethod
    def _not_empty(cls, value: tuple[Span, ...]) -> tuple[Span, ...]:
        if not value:
            raise ValueError("judge at least one step")
        return value


class Node(Answer):
    """A piece of evidence that the expected answer rests on."""

    node: str
    found: bool


class Evidence(Answer):
    """Evidence nodes, each found or missed by the agent."""

    nodes: tuple[Node, ...]


class Adherence(Answer):
    """Whether the agent followed the rules of its skill that fit the question; `broken`: those it did not."""

    followed: bool
    broken: tuple[str, ...]
    why: str


class Bias(Answer):
    """Confirmation bias: whether the agent settled on an answer and looked past what spoke against it."""

    biased: bool
    why: str


class Sufficiency(Answer):
    """Whether what the agent went by is enough to support the answer that it gave."""

    enough: bool
    why: str


class Reasoning(Answer):
    """The kind of the decisive error; `none` where there is none."""

    subtype: Subtype
    why: str


class Attribution(Answer):
    """Stage 2: defect or lapse, and the text that is to blame; `tool` is empty unless a tool's prompt is."""

    verdict: Literal["defect", "lapse"]
    blame: Literal["skill", "system", "tool"]
    tool: str
    why: str


STAGE_ONE: dict[str, type[Answer]] = {
    "spans": Spans,
    "evidence": Evidence,
    "adherence": Adherence,
    "bias": Bias,
    "sufficiency": Sufficiency,
    "reasoning": Reasoning,
}


class Findings(Artifact):
    """The answers of stage 1 for one case, by judge."""

    spans: Spans
    evidence: Evidence
    adherence: Adherence
    bias: Bias
    sufficiency: Sufficiency
    reasoning: Reasoning
