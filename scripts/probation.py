"""probation: what was accepted provisionally is confirmed by R or rolled back."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.slow import ProbationReport, Validation, settle_probations, write_back
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    state, texts = job.read("state", State), job.read("texts", Texts)
    validation = job.read("validation", Validation)
    state = write_back(state, validation, benchmark.validation)
    after, new_texts, outcomes = settle_probations(
        state, texts, validation, benchmark.validation, job.config.slow, job.config.train.cooldown_steps
    )
    job.write("state", after)
    job.write("texts", new_texts)
    job.write("report", ProbationReport(outcomes=tuple(outcomes)))
