"""Questions without tools: everything is in the prompt."""

from skillmake.agent.environments.base import Nothing
from skillmake.agent.render import build_messages
from skillmake.config.models import Agent as AgentConfig
from skillmake.llm.types import Message
from skillmake.questions import Question


class QaEnvironment:
    def __init__(self, config: AgentConfig) -> None:
        self._config = config

    def messages(self, question: Question, system: str, skill: str) -> tuple[Message, ...]:
        return build_messages(question, system, skill, self._config.options_in, self._config.nearest_examples)

    def open(self, question: Question) -> Nothing:  # noqa: ARG002 - the protocol's signature
        return Nothing()
