"""The llm teacher of momentum: guidance from two answers to each question (SPEC §7.6)."""

from typing import Any

from skillmake.config.endpoints import ModelConfig
from skillmake.llm.client import Client
from skillmake.momentum import Comparison, Guidance
from skillmake.teachers.answers import parse_object
from skillmake.teachers.asking import ask
from skillmake.teachers.templates import Templates

GUIDANCE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"guidance": {"type": "string"}},
    "required": ["guidance"],
    "additionalProperties": False,
}


class LlmMomentumTeacher:
    """Asks the teacher model with the template `momentum.md`."""

    def __init__(self, client: Client, model: ModelConfig, templates: Templates) -> None:
        self._client, self._model, self._templates = client, model, templates

    def guide(self, comparison: Comparison) -> Guidance:
        """One call, and one repair try when the answer cannot be used; then the reason why not."""
        prompt = self._templates.render("momentum.md", comparison=comparison)
        asked = ask(self._client, self._model, self._templates, prompt, GUIDANCE_SCHEMA, _guidance)
        return Guidance(
            text=asked.value or "",
            nothing=asked.nothing,
            calls=asked.calls,
            prompt_tokens=asked.prompt_tokens,
            completion_tokens=asked.completion_tokens,
        )


def _guidance(text: str) -> str:
    value = parse_object(text).get("guidance")
    if not isinstance(value, str):
        raise ValueError('expected {"guidance": "..."}')
    return value.strip()
