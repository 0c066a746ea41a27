"""val_eval: the full validation run R of the epoch's version."""

from skillmake.agent.factory import answer_all
from skillmake.benchmark import Benchmark, questions_of
from skillmake.job import Job
from skillmake.slow import validate
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark, texts = Benchmark.read(job.path("questions"), job.path("pools")), job.read("texts", Texts)
    rows = answer_all(job, questions_of(benchmark.validation), texts)
    validation = validate(texts, rows, benchmark.validation)
    job.write("validation", validation)
    job.say(f"epoch {job.wildcards['e']}: validation accuracy {validation.accuracy:.3f}")
