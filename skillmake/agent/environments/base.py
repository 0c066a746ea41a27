"""What an agent can look up: the protocol behind `agent.environment`.

An environment of your own is a factory `package.module:factory` that takes the folder `data.videos` and gives
an object with the two methods of `Environment`. The agent checks arguments against the tool's schema before
it calls, so `call` gets what the schema allows and nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from skillmake.llm.types import Message
from skillmake.questions import Question


@dataclass(frozen=True)
class Tool:
    """One tool; `parameters` is the JSON schema of its arguments (an object)."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def wire(self) -> dict[str, Any]:
        """The tool as the OpenAI API takes it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class ToolResult:
    """What a call gave.

    `nodes`: ids of what was read whole; `images`: data URLs that go to the vision model with the tool's
    extract prompt, whose answer the agent is given; `is_error`: `text` tells the agent what was wrong with
    the call and what to do; `is_notice`: `text` is the tool's own word, as that nothing was found, and no
    prompt is asked about it; `is_uncut`: it is shown whole, for something else bounds its length.
    """

    text: str
    nodes: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    is_error: bool = False
    is_notice: bool = False
    is_uncut: bool = False


def are_texts(value: object) -> bool:
    """Whether it is a tuple or a list of texts; a user's own code may give anything."""
    return isinstance(value, (tuple, list)) and all(isinstance(part, str) for part in value)


class Context(Protocol):
    """What can be looked up for one question.

    `digest`: of everything that calls may show, so that outcomes are looked up by content.
    `evidence`: ids of the nodes that hold the answer, where the data says so; only the diagnosis sees them.
    """

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    @property
    def digest(self) -> str: ...

    @property
    def evidence(self) -> tuple[str, ...]: ...

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Result of one call, a pure function of the arguments.

        What an agent may ask for in vain is a ToolResult with `is_error`. Whatever is raised becomes one too.
        """
        ...


@runtime_checkable
class Environment(Protocol):
    """Builds prompts, and opens a context per question."""

    def messages(self, question: Question, system: str, skill: str) -> tuple[Message, ...]:
        """The first messages of a run; `skill` is empty where the agent does not get it inline."""
        ...

    def open(self, question: Question) -> Context:
        """What the agent can look up; raises DataError when the question's data is not there or not sound."""
        ...


@dataclass(frozen=True)
class Nothing:
    """The context without tools."""

    tools: tuple[Tool, ...] = ()
    digest: str = ""
    evidence: tuple[str, ...] = ()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        raise AssertionError(f"no tool was offered, {tool} was called with {arguments}")
