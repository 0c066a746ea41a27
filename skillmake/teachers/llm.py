"""The llm teacher: a model writes the edits from a template (SPEC §5)."""

from dataclasses import replace

from skillmake.config.endpoints import ModelConfig
from skillmake.evolve import Assignment, Proposal
from skillmake.llm.client import Client
from skillmake.llm.types import CallError, ChatRequest, ChatResponse, Message
from skillmake.structured import Asker
from skillmake.teachers.answers import EDITS_SCHEMA, REWRITE_SCHEMA, parse_edits, parse_object
from skillmake.teachers.ranking import rank_edits
from skillmake.teachers.templates import Templates


class LlmTeacher:
    """Asks the teacher model for edits (`patch`) or for a whole new text (`rewrite`)."""

    def __init__(
        self, client: Client, model: ModelConfig, templates: Templates, mode: str, rank: str = "support"
    ) -> None:
        self._client, self._model, self._templates = client, model, templates
        self._mode, self._rank = mode, rank

    def propose(self, assignment: Assignment) -> Proposal:
        """The teacher's edits, ranked by it when there are more than the budget and `rank` is `teacher`.

        A ranking that cannot be used leaves the edits to be ranked by their support.
        """
        proposal = self._propose(assignment)
        if self._rank != "teacher" or len(proposal.edits) <= assignment.budget:
            return proposal
        asker = Asker(self._client, self._model, self._templates)
        got = rank_edits(asker, assignment, proposal.edits)
        return replace(
            proposal,
            ranked=tuple(number - 1 for number in got.value.order) if got.value else None,
            calls=(*proposal.calls, *got.calls),
            prompt_tokens=proposal.prompt_tokens + got.prompt_tokens,
            completion_tokens=proposal.completion_tokens + got.completion_tokens,
        )

    def _propose(self, assignment: Assignment) -> Proposal:
        """One call, and one repair try when the answer cannot be used; then the reason why not."""
        prompt = self._templates.render(f"{self._mode}.md", assignment=assignment)
        messages: tuple[Message, ...] = ({"role": "user", "content": prompt},)
        paid = Proposal()
        problem = ""
        for _ in range(2):
            reply = self._client.ask([self._request(messages)])[0]
            if isinstance(reply.outcome, CallError):
                return replace(paid, nothing=f"teacher call failed: {reply.outcome.reason}")
            paid = _add(paid, reply.key, reply.outcome)
            if reply.outcome.finish == "length":
                return replace(paid, nothing="the teacher's answer was cut off (models.teacher.max_tokens)")
            try:
                return self._read(reply.outcome.text, paid)
            except ValueError as error:
                problem = str(error)
            repair = self._templates.render("repair.md", problem=problem)
            messages += (
                {"role": "assistant", "content": reply.outcome.text},
                {"role": "user", "content": repair},
            )
        return replace(paid, nothing=f"the teacher's answer cannot be used: {problem}")

    def _request(self, messages: tuple[Message, ...]) -> ChatRequest:
        return ChatRequest(
            messages=messages,
            temperature=self._model.temperature,
            max_tokens=self._model.max_tokens,
            schema=EDITS_SCHEMA if self._mode == "patch" else REWRITE_SCHEMA,
        )

    def _read(self, text: str, paid: Proposal) -> Proposal:
        if self._mode == "patch":
            edits = parse_edits(text)
            return replace(paid, edits=tuple(edits), nothing="" if edits else "the teacher proposed no edit")
        skill = parse_object(text).get("skill")
        if not isinstance(skill, str) or not skill.strip():
            raise ValueError('expected {"skill": "the whole text"}')
        return replace(paid, rewritten=skill)


def _add(paid: Proposal, key: str, response: ChatResponse) -> Proposal:
    return replace(
        paid,
        calls=(*paid.calls, key),
        prompt_tokens=paid.prompt_tokens + response.prompt_tokens,
        completion_tokens=paid.completion_tokens + response.completion_tokens,
    )
