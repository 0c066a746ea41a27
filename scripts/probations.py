"""probations: each is confirmed, stays open or is rolled back (SPEC §7.4)."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.slow import ProbationReport, Validation, settle_probations
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    units = Benchmark.read(job.path("questions"), job.path("pools")).validation
    state, texts, validation = (
        job.read("state", State),
        job.read("texts", Texts),
        job.read("validation", Validation),
    )
    slow, cooldown = job.config.slow, job.config.train.cooldown_steps
    after, new_texts, outcomes = settle_probations(state, texts, validation, units, slow, cooldown)
    job.write("state", after)
    job.write("texts", new_texts)
    job.write("probation", ProbationReport(outcomes=tuple(outcomes)))
