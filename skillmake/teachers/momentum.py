"""The llm teacher of momentum: guidance from two answers to each question (SPEC §7.6)."""

from collections.abc import Sequence

from skillmake.config.endpoints import ModelConfig
from skillmake.llm.client import Client
from skillmake.momentum import Comparison, Guidance
from skillmake.structured import Answer, Ask, Asker, Got
from skillmake.teachers.templates import Templates


class GuidanceAnswer(Answer):
    """The guidance for the momentum block; empty where there is nothing to say."""

    guidance: str


class LlmMomentumTeacher:
    """Asks the teacher model with the template `momentum.md`."""

    def __init__(self, client: Client, model: ModelConfig, templates: Templates) -> None:
        self._asker = Asker(client, model, templates)

    def guide(self, comparisons: Sequence[Comparison]) -> list[Guidance]:
        """One call each, and one repair try where the answer cannot be used; then the reason why not."""
        prompts = [self._asker.prompt("momentum.md", comparison=comparison) for comparison in comparisons]
        got = self._asker.ask([Ask(prompt, GuidanceAnswer) for prompt in prompts])
        return [_guidance(each) for each in got]


def _guidance(got: Got[GuidanceAnswer]) -> Guidance:
    return Guidance(
        text=got.value.guidance.strip() if got.value else "",
        nothing=got.problem and f"the teacher's answer cannot be used: {got.problem}",
        calls=got.calls,
        prompt_tokens=got.prompt_tokens,
        completion_tokens=got.completion_tokens,
    )
