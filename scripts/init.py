"""init: the state before the first step."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.prepare import initial_best, initial_state
from skillmake.rollout import Rollout
from skillmake.scores import SoftScores
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    texts, baseline = job.read("texts", Texts), job.read("baseline", Rollout)
    soft = {name: value for each in job.read_all("soft", SoftScores) for name, value in each.soft.items()}
    best = initial_best(texts, baseline.rows, benchmark, soft)
    job.write("best", best)
    job.write("state", initial_state(best, texts, baseline.rows, benchmark, job.config))
