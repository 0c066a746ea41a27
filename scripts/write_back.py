"""write_back: the outcomes of R become part of what is known (SPEC §7.3)."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.slow import Validation, write_back
from skillmake.state import State


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    validation = job.read("validation", Validation)
    job.write("state", write_back(job.read("state", State), validation, benchmark.validation))
