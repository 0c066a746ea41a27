"""Runs of a scripted agent over a few pages."""

from pathlib import Path
from typing import Any

from examples.notebook import Notebook
from skillmake.agent.loop import Prediction
from skillmake.questions import Question
from tests.scripted import Scripted, agent, call, texts
from tests.worlds import question

PAGES = {"u1": "u1 is so, they say.", "u2": "Nobody knows u2."}
LOOK = call("open_page", {"subject": "u1"})


def run(student: Scripted, root: Path, prompts: dict[str, str] | None = None, **config: Any) -> Prediction:
    return agent(student, root, Notebook(PAGES), **config).run([question("u1")], texts(prompts))[0]


def told(student: Scripted) -> list[str]:
    """Tool results in the messages of the last request."""
    return [m["content"] for m in student.requests[-1].messages if m["role"] == "tool"]


class OddTools(Notebook):
    def open(self, question: Question) -> Notebook:  # noqa: ARG002 - the protocol's signature
        return Notebook(PAGES, tools=self.tools)
