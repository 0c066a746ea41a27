"""prompts: the system prompt and the tools' prompts, evolved from the epoch's packs."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.packs import Diagnosis
from skillmake.prompts_job import make_prompts
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    texts, diagnoses = job.read("texts", Texts), job.read_all("diagnoses", Diagnosis)
    report, after = make_prompts(job, texts, diagnoses, benchmark, int(job.wildcards["e"]))
    job.write("prompts", report)
    job.write("texts", after)
    job.say(f"epoch {job.wildcards['e']}: {report.summary}")
