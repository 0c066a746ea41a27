"""Tables of single rollouts: predictions, and traces of what the agent did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from pydantic import Field

from skillmake.agent.loop import Prediction
from skillmake.artifacts import canonical_line
from skillmake.holdout import rows_by_side
from skillmake.settle import GateResult
from skillmake.tables.columns import Epoch, Prompts, Row, Skills, Step, TaskType, UnitId
from skillmake.tables.record import EndRecord, RunRecord, StepRecord
from skillmake.texts import Texts

Phase = Literal[
    "baseline",
    "step",
    "gate",
    "validation",
    "momentum",
    "momentum_gate",
    "validation2",
    "holdout",
    "final_test",
]
PhaseColumn = Annotated[
    Phase,
    Field(
        description="What it was made for: `baseline` (all questions), `step` (a batch), `gate`, "
        "`validation` (R), `momentum` (its comparison), `momentum_gate`, "
        "`validation2` (R2), `holdout` or `final_test`."
    ),
]
Side = Annotated[
    str,
    Field(
        description="Which of the compared texts answered: `baseline` or `candidate` at a gate, `before` or "
        "`after` in momentum, the name of the version at the held-out test; else `current`."
    ),
]
QuestionId = Annotated[str, Field(description="Question.")]
Replicate = Annotated[int, Field(description="Number of the draw; 0 but at temperature > 0.")]


class PredictionRow(Row):
    """One rollout: an agent run on one question, or an outcome that was known by content."""

    phase: PhaseColumn
    side: Side
    epoch: Epoch
    step: Step
    question_id: QuestionId
    unit_id: UnitId
    task_type: TaskType
    pool: str = Field(
        description="`diagnosis`, `validation` or `test`; empty for a type that is not trained."
    )
    replicate: Replicate
    skills: Skills
    prompts: Prompts
    answer: str = Field(description="What is right.")
    prediction: str | None = Field(description="What the agent said; empty without an answer.")
    right: bool | None = Field(description="Whether it is right; empty after an error of the infrastructure.")
    soft: float | None = Field(
        description="Soft score in [0, 1], where a diagnosis or a validation gave one."
    )
    stop_reason: str = Field(description="`answered`, `max_steps` or `error`.")
    error: str = Field(description="The error; else empty.")
    looked_up: bool = Field(description="The outcome was known by content: nothing was asked.")
    turns: int = Field(description="Model turns.")
    tool_calls: int = Field(description="Tool calls.")
    prompt_tokens: int = Field(description="Prompt tokens of the run.")
    completion_tokens: int = Field(description="Answer tokens of the run.")
    call: str = Field(description="Key of the run's first call, as in `llm_calls`.")


class TraceRow(Row):
    """One event of a rollout: a turn of the model, or a tool call of that turn."""

    phase: PhaseColumn
    side: Side
    epoch: Epoch
    step: Step
    question_id: QuestionId
    replicate: Replicate
    position: int = Field(description="Number of the event in its rollout, from 0.")
    turn: int = Field(description="Model turn, from 1.")
    kind: Literal["model", "tool"] = Field(description="Whose `text` it is: `model` or `tool`.")
    text: str = Field(description="What the model said, or the first characters of what the tool gave.")
    tool: str | None = Field(None, description="The tool that was called.")
    arguments: str | None = Field(None, description="Its arguments, as JSON.")
    outcome: str | None = Field(None, description="`found`, `error`, `malformed` or `repeated`.")
    nodes: str | None = Field(None, description="Nodes that were read whole, as a JSON list.")
    verdict: str | None = Field(None, description="What the tool's verify prompt said.")


@dataclass(frozen=True)
class Made:
    """Rollouts of one purpose, with the texts that they were made with."""

    phase: Phase
    side: str
    epoch: int
    step: int | None
    skills: str
    prompts: str
    rows: Sequence[Prediction]
    soft: Mapping[str, float] = field(default_factory=dict)


def made_rollouts(record: RunRecord) -> Iterator[Made]:
    """All rollouts of a run in order of time."""
    base = record.baseline
    yield Made("baseline", "current", 0, None, base.skills, base.prompts, base.rows)
    for epoch in range(1, max((step.epoch for step in record.steps), default=0) + 1):
        for step in record.steps:
            if step.epoch == epoch:
                yield from _of_step(step)
        for end in record.ends:
            if end.epoch == epoch:
                yield from _of_end(end)
    if (test := record.test) is not None:
        yield Made("final_test", "current", len(record.ends), None, test.skills, test.prompts, test.rows)


def prediction_rows(record: RunRecord) -> Iterator[PredictionRow]:
    """Rows of the table `predictions`."""
    pools = {
        unit.unit_id: pool
        for pool in ("diagnosis", "validation", "test")
        for unit in getattr(record.benchmark, pool)
    }
    for made in made_rollouts(record):
        for row in made.rows:
            yield PredictionRow(
                phase=made.phase,
                side=made.side,
                epoch=made.epoch,
                step=made.step,
                question_id=row.question_id,
                unit_id=row.unit_id,
                task_type=row.task_type,
                pool=pools.get(row.unit_id, ""),
                replicate=row.replicate,
                skills=made.skills,
                prompts=made.prompts,
                answer=record.benchmark.questions[row.question_id].answer,
                prediction=row.prediction,
                right=row.right,
                soft=made.soft.get(row.question_id),
                stop_reason=row.stop_reason,
                error=row.error,
                looked_up=row.looked_up,
                turns=len(row.trace),
                tool_calls=len(row.steps),
                prompt_tokens=row.prompt_tokens,
                completion_tokens=row.completion_tokens,
                call=row.calls[0],
            )


def trace_rows(record: RunRecord) -> Iterator[TraceRow]:
    """Rows of the table `traces`; an outcome that was looked up has none."""
    for made in made_rollouts(record):
        for row in made.rows:
            yield from _events(made, row)


def _events(made: Made, row: Prediction) -> Iterator[TraceRow]:
    position = 0
    for turn, text in enumerate(row.trace, 1):
        event = TraceRow(
            phase=made.phase,
            side=made.side,
            epoch=made.epoch,
            step=made.step,
            question_id=row.question_id,
            replicate=row.replicate,
            position=position,
            turn=turn,
            kind="model",
            text=text,
        )
        yield event
        position += 1
        for call in row.steps:
            if call.turn == turn:
                update = {
                    "position": position,
                    "kind": "tool",
                    "text": call.result,
                    "tool": call.tool,
                    "arguments": canonical_line(call.arguments),
                    "outcome": call.outcome,
                    "nodes": canonical_line(call.nodes),
                    "verdict": call.verdict or None,
                }
                yield event.model_copy(update=update)
                position += 1


def _of_step(step: StepRecord) -> Iterator[Made]:
    batch = step.rollout
    yield Made(
        *("step", "current", step.epoch, step.step, batch.skills, batch.prompts, batch.rows),
        soft=step.diagnosis.soft,
    )
    for gate in step.gates:
        if gate.decision is not None:
            yield from _of_gate(step, gate)


def _of_gate(step: StepRecord, gate: GateResult) -> Iterator[Made]:
    after = step.texts.with_skill(gate.candidate.path, gate.candidate.text, "candidate")
    for side, texts, rows in (
        ("baseline", step.texts, gate.baseline_rows),
        ("candidate", after, gate.candidate_rows),
    ):
        yield _with("gate", side, step.epoch, step.step, texts, rows)


def _of_end(end: EndRecord) -> Iterator[Made]:
    epoch = end.epoch
    validation = _with("validation", "current", epoch, None, end.measured, end.validation.rows)
    yield replace(validation, soft=end.scores.soft)
    half = len(end.momentum.rows) // 2
    yield _with("momentum", "before", epoch, None, end.start, end.momentum.rows[:half])
    yield _with("momentum", "after", epoch, None, end.settled, end.momentum.rows[half:])
    for file in end.momentum.files:
        changed = end.settled.with_skill(file.path, file.text, "momentum")
        for check in file.checks:
            yield _with("momentum_gate", "baseline", epoch, None, end.settled, check.baseline_rows)
            yield _with("momentum_gate", "candidate", epoch, None, changed, check.changed_rows)
    if (second := end.second.slow_candidate) is not None:
        again = _with("validation2", "current", epoch, None, end.tried, second.rows)
        yield replace(again, soft=end.second.scores.soft if end.second.scores else {})
    if end.holdout is not None:
        for name, rows in rows_by_side(end.holdout).items():
            side = end.holdout.sides[name]
            yield Made("holdout", name, epoch, None, side.skills, side.prompts, rows)


def _with(
    phase: Phase, side: str, epoch: int, step: int | None, texts: Texts, rows: Sequence[Prediction]
) -> Made:
    return Made(phase, side, epoch, step, texts.skills.digest, texts.prompts.digest, rows)
