"""val_eval: the full validation run R of the epoch's version."""

from skillmake.agent.factory import student
from skillmake.agent.loop import check_errors
from skillmake.benchmark import Benchmark, questions_of
from skillmake.job import Job
from skillmake.slow import validate
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark, texts = Benchmark.read(job.path("questions"), job.path("pools")), job.read("texts", Texts)
    with student(job) as agent:
        rows = agent.run(questions_of(benchmark.validation), texts)
    check_errors(rows, job.config.train.max_error_share, job.config.models.student.model)
    validation = validate(texts, rows, benchmark.validation)
    job.write("validation", validation)
    job.say(f"epoch {job.wildcards['e']}: validation accuracy {validation.accuracy:.3f}")
