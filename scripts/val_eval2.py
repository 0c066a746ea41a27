"""val_eval2: the second full validation R2, if prompts changed; they are kept or reverted."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.prompts_update import PromptsReport, after_second
from skillmake.second_job import run_second
from skillmake.slow import BestReport, Validation
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    before, tried = job.read("momentum_texts", Texts), job.read("prompts_texts", Texts)
    first, report = job.read("validation", Validation), job.read("prompts", PromptsReport)
    second = run_second(job, first, report, tried, benchmark)
    epoch = int(job.wildcards["e"])
    texts, best = after_second(second, before, tried, job.read("best", BestReport), epoch)
    job.write("validation2", second)
    job.write("texts", texts)
    job.write("best", best)
    job.say(f"epoch {job.wildcards['e']}: second validation {second.verdict}, {second.reason}")
