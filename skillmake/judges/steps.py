"""A rollout as the steps that judges judge: each tool call with what it found and gave, then the answer."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from skillmake.agent.environments.base import Context, Environment
from skillmake.agent.loop import Prediction
from skillmake.agent.play import call_tool, capped
from skillmake.agent.trace import Step
from skillmake.questions import Question

# What a tool gives for the call of a step, before its extract prompt is asked; "" where it cannot be known.
Source = Callable[[Question, Step], str]


@dataclass(frozen=True)
class JudgedStep:
    """`did`: what the agent wrote or called; `given`: what it was given for a call; `found`: the tool's own
    result, where its extract prompt has made `given` of it."""

    did: str
    given: str = ""
    found: str = ""


def judged_steps(row: Prediction, question: Question, source: Source | None) -> tuple[JudgedStep, ...]:
    """Steps of a rollout in order of time; without tool calls each text that the agent wrote is one.

    A call that gave nothing (`malformed`, `repeated`, `error`) is a step like any other. `source`: None
    leaves out what the tools found.
    """
    if not row.steps:
        return tuple(JudgedStep(text) for text in row.trace)
    steps = [_call(row, k, question, source) for k in range(len(row.steps))]
    end = row.trace[-1] if row.stop_reason == "answered" else f"gave no answer ({row.stop_reason})"
    return (*steps, JudgedStep(end))


def used_tools(row: Prediction) -> set[str]:
    """Tools that gave a result: only their prompts can have made a difference."""
    return {step.tool for step in row.steps if step.outcome == "found"}


def _call(row: Prediction, k: int, question: Question, source: Source | None) -> JudgedStep:
    step = row.steps[k]
    first_of_turn = k == 0 or row.steps[k - 1].turn != step.turn
    thought = row.trace[step.turn - 1].strip() if first_of_turn else ""
    outcome = "" if step.outcome == "found" else f" ({step.outcome})"
    read = f"; reads {', '.join(step.nodes)} whole" if step.nodes else ""
    call = f"calls {step.tool} {json.dumps(step.arguments, ensure_ascii=False)}{outcome}{read}"
    did = f"{thought} {call}".strip()
    found = source(question, step) if source and step.outcome == "found" else ""
    # Where the extract prompt has changed nothing, once is enough
    return JudgedStep(did, step.result, "" if step.result.startswith(found) else found)


def sources(environment: Environment, tokens: int) -> Source:
    """What the tools of an environment give, each result cut at so many tokens."""
    contexts: dict[str, Context] = {}

    def source(question: Question, step: Step) -> str:
        context = contexts.setdefault(question.question_id, environment.open(question))
        if step.tool not in {tool.name for tool in context.tools}:
            return ""
        return capped(call_tool(context, step.tool, step.arguments).text, tokens)

    return source
