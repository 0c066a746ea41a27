"""An environment of your own: a notebook with one page per subject, and one tool to open a page.

params.yaml: `agent: {environment: "examples.notebook:make"}`, `data: {videos: <folder with notes.json>}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillmake.agent.environments.base import Tool, ToolResult
from skillmake.agent.render import build_messages
from skillmake.artifacts import digest, read_json
from skillmake.llm.types import Message
from skillmake.questions import Question

OPEN_PAGE = Tool(
    "open_page",
    "The page of the notebook about a subject.",
    {
        "type": "object",
        "properties": {"subject": {"type": "string"}},
        "required": ["subject"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True)
class Notebook:
    """The same pages for every question; no page is known to hold the answer."""

    pages: Mapping[str, str]
    tools: tuple[Tool, ...] = (OPEN_PAGE,)
    evidence: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return digest(dict(self.pages))

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:  # noqa: ARG002 - there is one tool
        subject = arguments["subject"]
        if subject not in self.pages:
            known = ", ".join(sorted(self.pages))
            return ToolResult(f"no page about {subject}; there are pages about {known}", is_error=True)
        return ToolResult(self.pages[subject], nodes=(subject,))

    def messages(self, question: Question, system: str, skill: str) -> tuple[Message, ...]:
        return build_messages(question, f"{system}\n\nLook it up in the notebook first.", skill)

    def open(self, question: Question) -> "Notebook":  # noqa: ARG002 - one notebook for all
        return self


def make(folder: Path) -> Notebook:
    """What `agent.environment: examples.notebook:make` calls."""
    return Notebook(read_json(folder / "notes.json"))
