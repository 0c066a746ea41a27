"""final_test: the sealed test answered with the best version; it is observed and decides nothing."""

from skillmake.agent.factory import answer_all
from skillmake.benchmark import Benchmark, questions_of
from skillmake.job import Job
from skillmake.rollout import Rollout
from skillmake.slow import BestReport


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    texts = job.read("best", BestReport).texts
    rollout = Rollout.of(texts, answer_all(job, questions_of(benchmark.test), texts))
    job.write("rollout", rollout)
    job.say(f"sealed test: {rollout.summary}")
