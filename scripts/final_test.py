"""final_test: the sealed test answered with the best version; it is observed and decides nothing."""

from skillmake.agent.factory import student
from skillmake.agent.loop import check_errors
from skillmake.benchmark import Benchmark, questions_of
from skillmake.job import Job
from skillmake.rollout import Rollout
from skillmake.slow import BestReport


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    texts = job.read("best", BestReport).texts
    with student(job) as agent:
        rollout = Rollout.of(texts, agent.run(questions_of(benchmark.test), texts))
    check_errors(rollout.rows, job.config.train.max_error_share, job.config.models.student.model)
    job.write("rollout", rollout)
    job.say(f"sealed test: {rollout.summary}")
