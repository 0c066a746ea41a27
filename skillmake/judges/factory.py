"""The diagnosis that `diagnose.method` names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from skillmake.agent.environments.factory import make_environment
from skillmake.agent.factory import videos
from skillmake.agent.loop import Prediction
from skillmake.artifacts import canonical_line
from skillmake.benchmark import Benchmark
from skillmake.config.models import Config
from skillmake.diagnose import diagnose_by_rule
from skillmake.job import Job
from skillmake.judges.diagnosis import diagnose_by_judges
from skillmake.judges.soft import judge_soft
from skillmake.judges.steps import Source, sources
from skillmake.llm.cost import Price
from skillmake.llm.factory import job_client
from skillmake.llm.types import ChatResponse
from skillmake.packs import Diagnosis, Judging
from skillmake.questions import Question
from skillmake.scores import SoftScores
from skillmake.structured import Asker
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts

Diagnose = Callable[[Sequence[Prediction], Mapping[str, Question], Texts], Diagnosis]


@contextmanager
def diagnosis(job: Job, *seed: str) -> Iterator[Diagnose]:
    """The job's diagnosis of rollouts; the judge's connections are closed behind it.

    `seed`: what the sample of right answers depends on besides the run's seed; a step's are epoch and step.
    That of the judges writes what each case cost into the job's log.
    """
    config = job.config
    if config.diagnose.method == "rules":
        yield diagnose_by_rule
        return
    source = shown(config)
    with judge(job) as asker:

        def judged(rows: Sequence[Prediction], questions: Mapping[str, Question], texts: Texts) -> Diagnosis:
            found = diagnose_by_judges(
                rows,
                questions,
                texts,
                asker=asker,
                config=config.diagnose,
                seed=(config.seed, *seed),
                source=source,
            )
            job.note(case_costs(found.judgings, price(config)))
            return found

        yield judged


@contextmanager
def judge(job: Job) -> Iterator[Asker]:
    """The job's judge; its connections are closed behind it."""
    templates = Templates(Path(job.config.diagnose.templates))
    with job_client(job, "judge") as client:
        yield Asker(client, job.config.models.judge, templates)


def shown(config: Config) -> Source:
    """What the judges of a run are shown of the tools."""
    return sources(make_environment(config.agent, videos(config)), config.agent.result_tokens)


def price(config: Config) -> Price:
    return Price(config.models.judge.price_in, config.models.judge.price_out)


def validation_is_judged(config: Config) -> bool:
    """Whether full validations get soft scores by judges."""
    return config.slow.soft_validation and config.diagnose.method == "judges"


def soft_scores(job: Job, rows: Sequence[Prediction], benchmark: Benchmark, texts: Texts) -> SoftScores:
    """Soft scores of a full validation, with what each case cost in the job's log."""
    with judge(job) as asker:
        found = judge_soft(rows, benchmark.questions, texts, asker, shown(job.config))
    job.note(case_costs(found.judgings, price(job.config)))
    return found


def case_costs(judgings: Mapping[str, Judging], price: Price) -> str:
    """One JSON line per judged question: its calls, tokens, and what they cost from an empty cache."""
    lines = []
    for question_id, judging in sorted(judgings.items()):
        prompt, completion = judging.prompt_tokens, judging.completion_tokens
        cost = price.of(ChatResponse("", prompt_tokens=prompt, completion_tokens=completion))
        row = {
            "question_id": question_id,
            "calls": len(judging.calls),
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "cost": cost,
            "degraded": judging.degraded,
        }
        lines.append(canonical_line(row))
    return "\n".join(lines)
