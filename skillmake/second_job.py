"""What a second validation needs, from its job; or the reason why there is nothing to run."""

from skillmake.agent.factory import answer_all
from skillmake.benchmark import Benchmark, questions_of
from skillmake.job import Job
from skillmake.judges.factory import soft_scores, validation_is_judged
from skillmake.prompts_update import PromptsReport, SecondValidation, second_verdict
from skillmake.scores import score
from skillmake.slow import Validation, validate
from skillmake.texts import Texts


def run_second(
    job: Job,
    first: Validation,
    report: PromptsReport,
    texts: Texts,
    benchmark: Benchmark,
) -> SecondValidation:
    """R2 of `texts`, the epoch's last version, if its prompts are new; judged where R is."""
    if not report.changed:
        return SecondValidation(verdict="not_run", reason="the prompts are those of R")
    rows = answer_all(job, questions_of(benchmark.validation), texts)
    second = validate(texts, rows, benchmark.validation)
    judged = soft_scores(job, rows, benchmark, texts) if validation_is_judged(job.config) else None
    scores = score(second, benchmark.validation, judged.soft if judged else {})
    return second_verdict(first, second, scores, report, judged)
