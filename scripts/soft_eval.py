"""soft_eval: soft scores of the full validation R."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.judges.factory import soft_scores
from skillmake.slow import Validation
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark, texts = Benchmark.read(job.path("questions"), job.path("pools")), job.read("texts", Texts)
    soft = soft_scores(job, job.read("validation", Validation).rows, benchmark, texts)
    job.write("soft", soft)
    job.say(f"epoch {job.wildcards['e']}: {soft.summary}")
