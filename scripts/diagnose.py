"""diagnose: what went wrong in a step, as packs for the teacher."""

from skillmake.benchmark import Benchmark
from skillmake.diagnose import diagnose_by_rule
from skillmake.job import Job
from skillmake.rollout import Rollout
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    rows = job.read("rollout", Rollout).rows
    job.write("diagnosis", diagnose_by_rule(rows, benchmark.questions, job.read("texts", Texts)))
