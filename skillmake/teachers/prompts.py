"""The llm teacher of system and tool prompts (SPEC §7.7)."""

from skillmake.config.endpoints import ModelConfig
from skillmake.evolve import Proposal
from skillmake.llm.client import Client
from skillmake.prompt_evolution import PromptAssignment
from skillmake.teachers.answers import EDITS_SCHEMA
from skillmake.teachers.asking import ask
from skillmake.teachers.llm import proposal_of, read_edits
from skillmake.teachers.templates import Templates


class LlmPromptTeacher:
    """Asks the teacher model with the template `system.md`."""

    def __init__(self, client: Client, model: ModelConfig, templates: Templates) -> None:
        self._client, self._model, self._templates = client, model, templates

    def revise(self, assignment: PromptAssignment) -> Proposal:
        """One call, and one repair try when the answer cannot be used; then the reason why not."""
        prompt = self._templates.render("system.md", assignment=assignment)
        return proposal_of(ask(self._client, self._model, self._templates, prompt, EDITS_SCHEMA, read_edits))
