"""Calls, tokens and money of a run before it starts, from the requests that it would send."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillmake.agent.loop import Prediction
from skillmake.agent.render import build_messages
from skillmake.artifacts import Artifact
from skillmake.benchmark import questions_of
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Gate
from skillmake.diagnose import diagnose_by_rule
from skillmake.evolve import Assignment
from skillmake.planning import Trial, TypePlan
from skillmake.questions import Question
from skillmake.skilltext import estimated_tokens, examples
from skillmake.start import Start
from skillmake.teachers.templates import Templates

# `exactly`: from an empty cache; `at most`: cache hits make it less; `about`: a mean of simulations.
Bound = Literal["exactly", "at most", "about"]


class Stage(Artifact):
    """Calls of one kind in the whole run. Tokens are estimates; money is in the unit of models.*.price_in."""

    stage: str
    bound: Bound
    calls: int
    prompt_tokens: int
    answer_tokens: int
    money: float


@dataclass(frozen=True)
class Cost:
    """`calls` calls of so many tokens each, prompt and answer."""

    calls: float
    prompt: float
    answer: float


def forecast(start: Start, plans: Sequence[TypePlan], batches: Trial) -> list[Stage]:
    """Stages of the run: baseline, rollouts, gates, full validations, final test, teacher."""
    student, teacher = start.config.models.student, start.config.models.teacher
    epochs, sizes, benchmark = start.config.train.epochs, Sizes(start), start.benchmark
    seed = [sizes.seed(question) for question in benchmark.questions.values()]
    batched = [question for batch in batches.batches for question in questions_of(batch)]
    gates = [_gate_cost(plan, start, sizes) for plan in plans]
    asked = _teacher_costs(start, batches) if start.config.evolve.teacher == "llm" else []
    return [
        stage("baseline", "exactly", seed, student),
        stage("rollouts", "at most", sizes.later(batched, epochs), student),
        stage("gates", "about", gates, student),
        stage("validations", "at most", sizes.later(questions_of(benchmark.validation), epochs), student),
        stage("final test", "at most", sizes.later(questions_of(benchmark.test), 1), student),
        stage("teacher", "at most" if asked else "exactly", asked, teacher),
    ]


def stage(name: str, bound: Bound, costs: Iterable[Cost], model: ModelConfig) -> Stage:
    """The costs of a stage together, at the prices of `model` (per million tokens)."""
    known = list(costs)
    prompt = sum(cost.calls * cost.prompt for cost in known)
    answer = sum(cost.calls * cost.answer for cost in known)
    return Stage(
        stage=name,
        bound=bound,
        calls=round(sum(cost.calls for cost in known)),
        prompt_tokens=round(prompt),
        answer_tokens=round(answer),
        money=round((prompt * model.price_in + answer * model.price_out) / 1e6, 6),
    )


def total(stages: Sequence[Stage]) -> Stage:
    """All stages together."""
    return Stage(
        stage="all",
        bound="about",
        calls=sum(stage.calls for stage in stages),
        prompt_tokens=sum(stage.prompt_tokens for stage in stages),
        answer_tokens=sum(stage.answer_tokens for stage in stages),
        money=round(sum(stage.money for stage in stages), 6),
    )


class Sizes:
    """Tokens of the student's calls: each question is rendered once, as the agent would."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._seed = {q: self._cost(question) for q, question in start.benchmark.questions.items()}
        self._more = {name: self._examples(name) for name in start.benchmark.trainable}

    def seed(self, question: Question) -> Cost:
        """One call with the seed texts."""
        return self._seed[question.question_id]

    def later(self, questions: Iterable[Question], times: float) -> list[Cost]:
        """`times` calls of each question with texts that were trained."""
        seed = [(question, self.seed(question)) for question in questions]
        return [Cost(times, c.prompt + self._more.get(q.task_type, 0.0), c.answer) for q, c in seed]

    def _cost(self, question: Question) -> Cost:
        texts, agent = self._start.texts, self._start.config.agent
        skill = texts.skill(question.task_type)
        messages = build_messages(question, texts.system, skill, agent.options_in, agent.nearest_examples)
        prompt = sum(estimated_tokens(message["content"]) for message in messages)
        most = self._start.config.models.student.max_tokens
        return Cost(1, prompt, min(most, estimated_tokens(question.answer)))

    def _examples(self, task_type: str) -> float:
        """Tokens of the worked examples that the exemplar teacher adds to a prompt of the type."""
        config = self._start.config
        own = [unit for unit in self._start.benchmark.diagnosis if unit.task_type == task_type]
        if config.evolve.teacher != "exemplar" or not own:
            return 0.0
        questions = questions_of(own)
        lengths = [estimated_tokens(q.question) + estimated_tokens(q.answer) for q in questions]
        before = len(examples(self._start.texts.skill(task_type)))
        after = before + config.evolve.edit_budget_start
        most = config.agent.nearest_examples or after
        new = min(most, after) - min(most, before)
        return min(new * sum(lengths) / len(lengths), config.evolve.skill_token_cap)


def _gate_cost(plan: TypePlan, start: Start, sizes: Sizes) -> Cost:
    """All gates of a type: the candidate on the larger of the two mean numbers of units, and a baseline
    that cannot be looked up on the whole ladder."""
    units = start.benchmark.ladder_units(plan.task_type, use_diagnosis=start.config.gate.use_diagnosis)
    mean = _mean(sizes.later(questions_of(units), 1))
    asked = max(plan.units_no_op, plan.units_good or 0.0) * start.config.gate.replicates
    asked += plan.ladder * fresh_draws(start.config.gate)
    per_unit = len(questions_of(units)) / len(units)
    return Cost(plan.gates * start.config.train.epochs * asked * per_unit, mean.prompt, mean.answer)


def fresh_draws(gate: Gate) -> int:
    """Draws of the baseline that a gate pays for: all with `gate.fresh_baseline`, else those beyond the
    first, which everybody knows."""
    return gate.replicates if gate.fresh_baseline else gate.replicates - 1


def _mean(costs: Sequence[Cost]) -> Cost:
    n = len(costs)
    return Cost(1, sum(cost.prompt for cost in costs) / n, sum(cost.answer for cost in costs) / n)


def _teacher_costs(start: Start, batches: Trial) -> list[Cost]:
    """A call of the llm teacher per type and step, rendered from its template with cases of the batch."""
    config, out = start.config, []
    templates = Templates(Path(config.evolve.templates))
    for batch in batches.batches:
        rows = [_row(q, batches.right[q.unit_id]) for q in questions_of(batch)]
        packs = diagnose_by_rule(rows, start.benchmark.questions, start.texts).skill
        for task_type, pack in packs.items():
            skill, budget = start.texts.skill(task_type), config.evolve.edit_budget_start
            assignment = Assignment(task_type, skill, pack, (), budget, ())
            prompt = templates.render(f"{config.evolve.mode}.md", assignment=assignment)
            tokens = config.models.teacher.max_tokens
            out.append(Cost(config.train.epochs, estimated_tokens(prompt), tokens))
    return out


def _row(question: Question, right: bool) -> Prediction:
    """A rollout as it might be: right, or another option."""
    others = [option for option in question.options or () if option != question.answer]
    return Prediction(
        question_id=question.question_id,
        unit_id=question.unit_id,
        task_type=question.task_type,
        prediction=question.answer if right else next(iter(others), None),
        right=right,
        stop_reason="answered",
        calls=("",),
    )
