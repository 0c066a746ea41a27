"""What an agent with tools did: one row per tool call."""

from typing import Literal

from pydantic import JsonValue

from skillmake.artifacts import Artifact

Outcome = Literal["found", "error", "malformed", "repeated"]


class Step(Artifact):
    """One tool call.

    `turn`: the model turn (from 1) that made it; calls of one turn were made together. `outcome`: `error` is
    the tool's, `malformed` a call that fits no tool, `repeated` one that was answered before. `result`: what
    the agent was given, its check included. `nodes`: what was read whole. `verdict`: the verify prompt's.
    """

    turn: int
    tool: str
    arguments: dict[str, JsonValue]
    outcome: Outcome
    result: str
    nodes: tuple[str, ...] = ()
    verdict: str = ""
