"""A student that knows what its skill says, before a gate."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from skillmake.agent.loop import Agent
from skillmake.candidate import Candidate
from skillmake.config.models import Gate
from skillmake.gating import gate_candidate
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse, Provider
from skillmake.questions import Question
from skillmake.settle import GateResult
from skillmake.state import Best, State, observe
from skillmake.texts import Texts, Version
from skillmake.units import Unit

PATH = "alpha/SKILL.md"
HEAD = "---\nname: alpha\ndescription: What it knows.\n---\n\n"
GATE = Gate(n_max=20, rung=10, e_confirm=20, e_provisional=2, min_discordant=3, guard_err=0.1, futility=0)
SEED = (1, 0, "alpha")


class Student(Provider):
    """Answers yes to the questions that its skill names: `u01`, or `u01#2` for the draw 2 only.

    A draw that the skill names as `!u01#2` fails for good.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int]] = []  # skill, question, draw

    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "student of test_gating"}

    async def complete(self, request: ChatRequest) -> ChatResponse:
        skill, asked = (str(request.messages[place]["content"]) for place in (0, -1))
        name = re.findall(r"Is (\S+) so\?", asked)[0]
        self.asked.append((skill, name, request.replicate))
        known, draw = set(skill.split()), f"{name}#{request.replicate}"
        if f"!{draw}" in known:
            raise CallFailure("HTTP 400")
        return ChatResponse("yes" if {name, draw} & known else "no")

    async def close(self) -> None:
        return None


Hire = Callable[..., Agent]


def texts(known: str, prompt: str = "Answer.") -> Texts:
    return Texts(
        skills=Version.of({PATH: HEAD + known + "\n"}, None, "seed"),
        prompts=Version.of({"system.md": prompt}, None, "seed"),
    )


def tried(known: str, **more: object) -> Candidate:
    value = {"task_type": "alpha", "path": PATH, "status": "proposed", "parent": "p", "budget": 4}
    return Candidate.model_validate({**value, "text": f"{HEAD}{known}\n", **more})


def state(**more: object) -> State:
    best = Best(skills="s", prompts="p", accuracy=0.5, epoch=0)
    return State.model_validate(
        {"epoch": 0, "step": 0, "total_steps": 1, "correctness": {}, "best": best, **more}
    )


def known_under(agent: Agent, of: Texts, pool: Sequence[Unit]) -> State:
    """The state after all of `pool` was answered with these texts."""
    questions: list[Question] = [q for unit in pool for q in unit.questions]
    return state(correctness=observe({}, agent.run(questions, of)))


def names(*numbers: int) -> str:
    return " ".join(f"u{k:02d}" for k in numbers)


def gated(
    agent: Agent, old: str, new: str, pool: Sequence[Unit], before: State | None = None, config: Gate = GATE
) -> GateResult:
    return gate_candidate(tried(new), texts(old), before or state(), pool, agent, config, SEED)


def sides(student: Student) -> tuple[int, int]:
    """Calls with the old skill, which knows `old`, and with the candidate, which knows `new`."""
    return tuple(sum(mark in skill for skill, _, _ in student.asked) for mark in ("old", "new"))  # type: ignore[return-value]
