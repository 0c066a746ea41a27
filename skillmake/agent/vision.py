"""Who looks at pictures: the vision model where one is configured, else the student itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillmake.config.endpoints import ModelConfig
from skillmake.llm.client import Client
from skillmake.llm.types import ChatRequest, Reply


@dataclass(frozen=True)
class Vision:
    """The vision model and its client."""

    client: Client
    model: ModelConfig

    @property
    def key(self) -> str:
        """Differs where the answers may differ: another model, another sampling."""
        return self.client.key(self._own(ChatRequest(messages=())))

    def ask(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Answers to requests of a student, sampled as `models.vision` says."""
        return self.client.ask([self._own(request) for request in requests])

    def _own(self, request: ChatRequest) -> ChatRequest:
        return replace(request, temperature=self.model.temperature, max_tokens=self.model.max_tokens)


def ask_in_turn(student: Client, vision: Vision | None, requests: Sequence[ChatRequest]) -> list[Reply]:
    """Answers in the order of the requests; those with pictures come from `vision`, if there is one.

    One model is asked after the other, so that no more than `limits.slots` calls are in flight.
    """
    if vision is None:
        return student.ask(requests)
    seen = iter(vision.ask([request for request in requests if request.pictures]))
    read = iter(student.ask([request for request in requests if not request.pictures]))
    return [next(seen if request.pictures else read) for request in requests]
