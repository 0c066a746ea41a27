"""What a second validation needs, from its job; or the reason why there is nothing to run."""

from skillmake.agent.factory import answer_all
from skillmake.benchmark import Benchmark, questions_of
from skillmake.job import Job
from skillmake.packs import Diagnosis
from skillmake.prompts_update import PromptsReport, SecondValidation, second_verdict
from skillmake.scores import known_soft, score
from skillmake.slow import Validation, validate
from skillmake.texts import Texts


def run_second(
    job: Job,
    first: Validation,
    report: PromptsReport,
    texts: Texts,
    diagnoses: list[Diagnosis],
    benchmark: Benchmark,
) -> SecondValidation:
    """R2 of `texts`, the epoch's last version, if its prompts are new."""
    if not report.changed:
        return SecondValidation(verdict="not_run", reason="the prompts are those of R")
    rows = answer_all(job, questions_of(benchmark.validation), texts)
    second = validate(texts, rows, benchmark.validation)
    scores = score(second, benchmark.validation, known_soft(diagnoses))
    return second_verdict(first, second, scores, report)
