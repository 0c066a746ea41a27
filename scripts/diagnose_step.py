"""diagnose_step: what went wrong in a step, as packs for the teacher."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.judges.factory import diagnosis
from skillmake.rollout import Rollout
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    rows = job.read("rollout", Rollout).rows
    with diagnosis(job, *job.wildcards.values()) as diagnose:
        found = diagnose(rows, benchmark.questions, job.read("texts", Texts))
    job.write("diagnosis", found)
