"""The agent: runs of questions with given texts, graded; outcomes known by content are not asked again."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from skillmake.agent.environments.base import Context, Environment
from skillmake.agent.environments.factory import make_environment
from skillmake.agent.environments.skill_tool import WithSkill
from skillmake.agent.extract import extract_choice, extract_free
from skillmake.agent.graders import Grader, make_grader
from skillmake.agent.play import CUT, Run, Start, StopReason, ToolTexts, play
from skillmake.agent.render import question_text
from skillmake.agent.toolcalls import check_tools
from skillmake.agent.trace import Step
from skillmake.agent.vision import Vision, ask_in_turn
from skillmake.artifacts import Artifact, canonical_line, sha256
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import TrainingAborted
from skillmake.llm.client import Client
from skillmake.llm.types import ChatRequest
from skillmake.questions import Question
from skillmake.rounds import in_rounds
from skillmake.skilltext import examples
from skillmake.texts import Texts

MOST_CUT = 0.5


class Observation(Artifact):
    """What is known of a question under given texts: `call` is the key of the run (see `Agent.run`)."""

    call: str
    right: bool | None


class Prediction(Artifact):
    """One rollout. `right` is None when the infrastructure failed: neither right nor wrong.

    `error`: what failed, or that the answer was cut off; that is wrong, for it is the agent's own doing.
    `calls`: cache keys in the order asked; `looked_up`: the outcome was known by content and nothing was
    asked. With tools, `run` is the key of the run, `steps` are the tool calls, and `evidence` are the nodes
    that hold the answer, where the data says so; else `run` is empty and the only call is the key.
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
    run: str = ""
    steps: tuple[Step, ...] = ()
    evidence: tuple[str, ...] = ()

    @property
    def is_cut(self) -> bool:
        return self.stop_reason == "answered" and bool(self.error)

    @property
    def observation(self) -> Observation:
        return Observation(call=self.run or self.calls[0], right=self.right)


@dataclass(frozen=True)
class Rollouts:
    """Questions to be answered with given texts.

    `known`: observations by question id; one whose key is the key of this very run is used instead of calls.
    """

    questions: Sequence[Question]
    texts: Texts
    replicate: int = 0
    known: Mapping[str, Observation] = field(default_factory=dict)


class Agent:
    """Answers questions with given texts and grades the answers.

    `environment`: what can be looked up; None makes the one that the configuration names, without a folder.
    `vision`: looks at pictures; None: the student does.
    `name`: the model and its place, for messages.
    """

    def __init__(
        self,
        client: Client,
        model: ModelConfig,
        config: AgentConfig,
        environment: Environment | None = None,
        vision: Vision | None = None,
    ) -> None:
        self._client, self._model, self._config, self._vision = client, model, config, vision
        self._environment = environment or make_environment(config, Path())
        self._grade: Grader = make_grader(
            config.grader, tolerance=config.tolerance, f1_threshold=config.f1_threshold
        )
        self.slots, self.name = client.slots, client.name

    def run(
        self,
        questions: Iterable[Question],
        texts: Texts,
        *,
        replicate: int = 0,
        known: Mapping[str, Observation] | None = None,
    ) -> list[Prediction]:
        """One prediction per question, in the order given; `known` as in `Rollouts`."""
        return self.run_together([Rollouts(list(questions), texts, replicate, known or {})])[0]

    def run_together(self, wanted: Sequence[Rollouts]) -> list[list[Prediction]]:
        """For each of the rollouts one prediction per question, in the orders given.

        The key of a run without tools is that of its one request. With tools it is a digest over all that
        the run follows from: the first request, what the tools may show, their extract and verify prompts,
        the skill where a tool reads it, the limits of the loop, and the vision model; so a changed tool
        prompt is never taken for the old one, though the first request is the same.
        """
        rows: list[dict[str, Prediction]] = [{} for _ in wanted]
        todo = []
        for place, of in enumerate(wanted):
            for question in of.questions:
                start = self._start(question, of.texts, of.replicate)
                seen = of.known.get(question.question_id)
                if seen is not None and self._fits(seen, start):
                    rows[place][question.question_id] = _looked_up(question, seen, of.replicate)
                else:
                    todo.append((place, question, start))
        # Questions with one prefix side by side: the embedded model and most servers reuse it.
        todo.sort(key=lambda one: (one[0], one[1].task_type, one[1].options or (), one[1].question_id))
        ask = partial(ask_in_turn, self._client, self._vision)
        runs = in_rounds([play(start, self._config) for _, _, start in todo], ask)
        for (place, question, start), run in zip(todo, runs, strict=True):
            rows[place][question.question_id] = self._prediction(
                question, start, run, wanted[place].replicate
            )
        return [[rows[place][q.question_id] for q in of.questions] for place, of in enumerate(wanted)]

    def known(
        self, questions: Iterable[Question], texts: Texts, seen: Mapping[str, Observation]
    ) -> dict[str, bool | None]:
        """Outcomes that need no call, by question id: those observed with this very run."""
        return {
            question.question_id: seen[question.question_id].right
            for question in questions
            if question.question_id in seen
            and self._fits(seen[question.question_id], self._start(question, texts, 0))
        }

    def _fits(self, seen: Observation, start: Start) -> bool:
        return seen.right is not None and seen.call == (
            self._run_key(start) or self._client.key(start.request)
        )

    def _run_key(self, start: Start) -> str:
        """Key of a run with tools; empty without."""
        if not start.context.tools:
            return ""
        config = self._config
        limits = [config.max_steps, config.result_tokens, config.context_tokens]
        texts = {name: [text.extract, text.verify] for name, text in start.texts.items()}
        eyes = [self._vision.key] if self._vision else []
        parts = [self._client.key(start.request), start.context.digest, texts, limits, *eyes]
        return sha256(canonical_line(parts))

    def _start(self, question: Question, texts: Texts, replicate: int) -> Start:
        skill, mode = texts.skill(question.task_type), self._config.skill_mode
        inline, most = skill if mode == "inline" else "", self._config.nearest_examples
        context: Context = self._environment.open(question)
        if mode == "tool":
            context = WithSkill(context, skill)
        check_tools(context.tools)
        request = ChatRequest(
            messages=self._environment.messages(question, texts.system, inline),
            temperature=self._model.temperature,
            max_tokens=self._model.max_tokens,
            # A model that is held to the options could not call a tool
            choices=question.options if self._config.constrained and not context.tools else None,
            tools=tuple(tool.wire for tool in context.tools),
            replicate=replicate,
            # Chosen examples are the question's own; only the system message is shared
            shared=None if most is None or len(examples(inline)) <= most else 1,
        )
        tools = {tool.name: ToolTexts(*texts.tool(tool.name)) for tool in context.tools}
        return Start(request, context, question_text(question), tools)

    def _prediction(self, question: Question, start: Start, run: Run, replicate: int) -> Prediction:
        found = None
        if run.stop_reason == "answered":
            options = question.options
            found = extract_choice(run.answer, options) if options else extract_free(run.answer)
        right = found is not None and self._grade(found, question)
        return Prediction(
            question_id=question.question_id,
            unit_id=question.unit_id,
            task_type=question.task_type,
            replicate=replicate,
            prediction=found,
            right=None if run.stop_reason == "error" else right,
            stop_reason=run.stop_reason,
            trace=tuple(run.trace),
            error=run.error,
            calls=tuple(run.calls),
            prompt_tokens=run.prompt_tokens,
            completion_tokens=run.completion_tokens,
            run=self._run_key(start),
            steps=tuple(run.steps),
            evidence=start.context.evidence,
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
    """Raise TrainingAborted when more than `max_share` of the rollouts ended in an error (SPEC §3).

    So it does when most answers were cut off: then max_tokens is measured and not the texts.
    """
    failed = Counter(row.error for row in rows if row.stop_reason == "error")
    if failed.total() > max_share * len(rows):
        reasons = "; ".join(f"{count} × {reason}" for reason, count in failed.most_common(3))
        raise TrainingAborted(
            f"{failed.total()} of {len(rows)} rollouts of {model} failed: {reasons}",
            "the answers that did arrive are kept; repair the endpoint and run the same command again",
        )
    cut = sum(row.is_cut for row in rows)
    if cut > MOST_CUT * len(rows):
        raise TrainingAborted(
            f"{cut} of {len(rows)} rollouts of {model} were {CUT}",
            "raise models.student.max_tokens, or ask for shorter answers in the prompts",
        )
