"""deliver: the best version's skill files, and the prompts it was measured with."""

from skillmake.job import Job
from skillmake.slow import BestReport


def main(job: Job) -> None:
    texts = job.read("best", BestReport).texts
    job.write_files("skills", texts.skills.files)
    job.write_files("prompts", texts.prompts.files)
