"""init: the state before the first step."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.prepare import initial_best, initial_state
from skillmake.rollout import Rollout
from skillmake.scores import SoftScores, known_soft
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    texts, baseline = job.read("texts", Texts), job.read("baseline", Rollout)
    soft = known_soft(job.read_all("soft", SoftScores))
    best = initial_best(texts, baseline.rows, benchmark, soft)
    job.write("best", best)
    job.write("state", initial_state(best, texts, baseline.rows, benchmark, job.config))
