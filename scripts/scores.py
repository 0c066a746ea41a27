"""scores: hard, soft and mixed score of the full validation R (SPEC §7.2)."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.scores import SoftScores, known_soft, score
from skillmake.slow import Validation


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    soft = known_soft(job.read_all("soft", SoftScores))
    job.write("scores", score(job.read("validation", Validation), benchmark.validation, soft))
