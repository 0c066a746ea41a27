"""The agent for questions without tools: one call per question, graded."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from skillmake.agent.extract import extract_choice, extract_free
from skillmake.agent.graders import Grader, make_grader
from skillmake.agent.render import build_messages
from skillmake.artifacts import Artifact
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import TrainingAborted
from skillmake.llm.client import Client
from skillmake.llm.types import CallError, ChatRequest, Reply
from skillmake.questions import Question
from skillmake.skilltext import examples
from skillmake.texts import Texts

StopReason = Literal["answered", "max_steps", "error"]


class Observation(Artifact):
    """What is known of a question under one text: `call` is the key of the request it was asked with."""

    call: str
    right: bool | None


class Prediction(Artifact):
    """One rollout. `right` is None when the infrastructure failed: neither right nor wrong.

    `calls`: cache keys; `looked_up`: the outcome was known by content and nothing was asked.
    """

    question_id: str
    unit_id: str
    task_type: str
    replicate: int = 0
    prediction: str | None
    right: bool | None
    stop_reason: StopReason
    trace: tuple[str, ...] = ()
    error: str = ""
    calls: tuple[str, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    looked_up: bool = False

    @property
    def observation(self) -> Observation:
        return Observation(call=self.calls[0], right=self.right)


class Agent:
    """Answers questions with given texts and grades the answers."""

    def __init__(self, client: Client, model: ModelConfig, config: AgentConfig) -> None:
        self._client, self._model, self._config = client, model, config
        self._grade: Grader = make_grader(
            config.grader, tolerance=config.tolerance, f1_threshold=config.f1_threshold
        )
        self.slots = client.slots

    def run(
        self,
        questions: Iterable[Question],
        texts: Texts,
        *,
        replicate: int = 0,
        known: Mapping[str, Observation] | None = None,
    ) -> list[Prediction]:
        """One prediction per question, in the order given.

        `known`: observations by question id; one whose call key is the key of this very request is
        used instead of a call.
        """
        asked = list(questions)
        rows: dict[str, Prediction] = {}
        todo = []
        for question in asked:
            request = self._request(question, texts, replicate)
            seen = (known or {}).get(question.question_id)
            if seen is not None and self._fits(seen, request):
                rows[question.question_id] = _looked_up(question, seen, replicate)
            else:
                todo.append((question, request))
        # Questions with one prefix side by side: the embedded model and most servers reuse it.
        todo.sort(key=lambda pair: (pair[0].task_type, pair[0].options or (), pair[0].question_id))
        for (question, _), reply in zip(todo, self._client.ask([r for _, r in todo]), strict=True):
            rows[question.question_id] = self._prediction(question, reply, replicate)
        return [rows[question.question_id] for question in asked]

    def known(
        self, questions: Iterable[Question], texts: Texts, seen: Mapping[str, Observation]
    ) -> dict[str, bool | None]:
        """Outcomes that need no call, by question id: those observed with this very request."""
        return {
            question.question_id: seen[question.question_id].right
            for question in questions
            if question.question_id in seen
            and self._fits(seen[question.question_id], self._request(question, texts, 0))
        }

    def _fits(self, seen: Observation, request: ChatRequest) -> bool:
        return seen.right is not None and seen.call == self._client.key(request)

    def _request(self, question: Question, texts: Texts, replicate: int) -> ChatRequest:
        skill, most = texts.skill(question.task_type), self._config.nearest_examples
        messages = build_messages(question, texts.system, skill, self._config.options_in, most)
        return ChatRequest(
            messages=messages,
            temperature=self._model.temperature,
            max_tokens=self._model.max_tokens,
            choices=question.options if self._config.constrained else None,
            replicate=replicate,
            # Chosen examples are the question's own; only the system message is shared
            shared=None if most is None or len(examples(skill)) <= most else 1,
        )

    def _prediction(self, question: Question, reply: Reply, replicate: int) -> Prediction:
        common = {
            "question_id": question.question_id,
            "unit_id": question.unit_id,
            "task_type": question.task_type,
            "replicate": replicate,
            "calls": (reply.key,),
        }
        if isinstance(reply.outcome, CallError):
            failed = {
                "prediction": None,
                "right": None,
                "stop_reason": "error",
                "error": reply.outcome.reason,
            }
            return Prediction.model_validate({**common, **failed})
        text = reply.outcome.text
        found = extract_choice(text, question.options) if question.options else extract_free(text)
        return Prediction.model_validate(
            {
                **common,
                "prediction": found,
                "right": found is not None and self._grade(found, question),
                "stop_reason": "answered",
                "trace": (text,),
                "prompt_tokens": reply.outcome.prompt_tokens,
                "completion_tokens": reply.outcome.completion_tokens,
            }
        )


def _looked_up(question: Question, seen: Observation, replicate: int) -> Prediction:
    return Prediction(
        question_id=question.question_id,
        unit_id=question.unit_id,
        task_type=question.task_type,
        replicate=replicate,
        prediction=None,
        right=seen.right,
        stop_reason="answered",
        calls=(seen.call,),
        looked_up=True,
    )


def check_errors(rows: Sequence[Prediction], max_share: float, model: str) -> None:
    """Raise TrainingAborted when more than `max_share` of the rollouts ended in an error (SPEC §3)."""
    failed = [row for row in rows if row.stop_reason == "error"]
    if len(failed) > max_share * len(rows):
        kinds = sorted({row.error for row in failed})
        raise TrainingAborted(
            f"{len(failed)} of {len(rows)} rollouts of {model} failed: {'; '.join(kinds[:3])}",
            "the answers that did arrive are kept; repair the endpoint and run the same command again",
        )
