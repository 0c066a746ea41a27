"""The diagnosis that `diagnose.method` names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from skillmake.agent.loop import Prediction
from skillmake.artifacts import canonical_line
from skillmake.diagnose import diagnose_by_rule
from skillmake.job import Job
from skillmake.judges.diagnosis import diagnose_by_judges
from skillmake.llm.cost import Price
from skillmake.llm.factory import job_client
from skillmake.llm.types import ChatResponse
from skillmake.packs import Diagnosis
from skillmake.questions import Question
from skillmake.structured import Asker
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts

Diagnose = Callable[[Sequence[Prediction], Mapping[str, Question], Texts], Diagnosis]


@contextmanager
def diagnosis(job: Job) -> Iterator[Diagnose]:
    """The job's diagnosis of rollouts; the judge's connections are closed behind it.

    That of the judges writes what each case cost into the job's log.
    """
    config = job.config
    if config.diagnose.method == "rules":
        yield diagnose_by_rule
        return
    model = config.models.judge
    templates, seed = Templates(Path(config.diagnose.templates)), (config.seed, *job.wildcards.values())
    with job_client(job, "judge") as client:
        asker = Asker(client, model, templates)

        def judged(rows: Sequence[Prediction], questions: Mapping[str, Question], texts: Texts) -> Diagnosis:
            found = diagnose_by_judges(rows, questions, texts, asker=asker, config=config.diagnose, seed=seed)
            job.note(case_costs(found, Price(model.price_in, model.price_out)))
            return found

        yield judged


def case_costs(found: Diagnosis, price: Price) -> str:
    """One JSON line per judged question: its calls, tokens, and what they cost from an empty cache."""
    lines = []
    for question_id, judging in sorted(found.judgings.items()):
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
