"""holdout: the sealed test of four versions; it is observed and decides nothing."""

from functools import partial

from skillmake.agent.factory import answer_all
from skillmake.benchmark import Benchmark, questions_of
from skillmake.holdout import run_holdout, sides
from skillmake.job import Job
from skillmake.rollout import Rollout
from skillmake.slow import BestReport
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    versions = sides(job.read("seed_texts", Texts), job.read("texts", Texts), job.read("best", BestReport))
    answer = partial(answer_all, job, questions_of(benchmark.test))
    found = run_holdout(versions, job.read("baseline", Rollout), benchmark.test, answer)
    job.write("holdout", found)
    accuracies = ", ".join(f"{name} {side.accuracy:.3f}" for name, side in found.sides.items())
    job.say(f"epoch {job.wildcards['e']}: held-out test, only observed: {accuracies}")
