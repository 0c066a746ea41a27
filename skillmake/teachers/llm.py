"""The llm teacher: a model writes the edits from a template (SPEC §5)."""

from dataclasses import replace

from skillmake.config.endpoints import ModelConfig
from skillmake.evolve import Assignment, Proposal
from skillmake.llm.client import Client
from skillmake.teachers.answers import EDITS_SCHEMA, REWRITE_SCHEMA, parse_edits, parse_object
from skillmake.teachers.asking import Asked, ask
from skillmake.teachers.templates import Templates


class LlmTeacher:
    """Asks the teacher model for edits (`patch`) or for a whole new text (`rewrite`)."""

    def __init__(self, client: Client, model: ModelConfig, templates: Templates, mode: str) -> None:
        self._client, self._model, self._templates, self._mode = client, model, templates, mode

    def propose(self, assignment: Assignment) -> Proposal:
        """One call, and one repair try when the answer cannot be used; then the reason why not."""
        prompt = self._templates.render(f"{self._mode}.md", assignment=assignment)
        schema, read = (EDITS_SCHEMA, read_edits) if self._mode == "patch" else (REWRITE_SCHEMA, _rewritten)
        return proposal_of(ask(self._client, self._model, self._templates, prompt, schema, read))


def proposal_of(asked: Asked[Proposal]) -> Proposal:
    """The proposal with what was paid for it."""
    return replace(
        asked.value or Proposal(nothing=asked.nothing),
        calls=asked.calls,
        prompt_tokens=asked.prompt_tokens,
        completion_tokens=asked.completion_tokens,
    )


def read_edits(text: str) -> Proposal:
    """Edits in a teacher's answer; ValueError where there are none to read."""
    edits = parse_edits(text)
    return Proposal(edits=tuple(edits), nothing="" if edits else "the teacher proposed no edit")


def _rewritten(text: str) -> Proposal:
    skill = parse_object(text).get("skill")
    if not isinstance(skill, str) or not skill.strip():
        raise ValueError('expected {"skill": "the whole text"}')
    return Proposal(rewritten=skill)
