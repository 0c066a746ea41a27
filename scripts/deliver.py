"""deliver: the best version's skill files."""

from skillmake.job import Job
from skillmake.slow import BestReport


def main(job: Job) -> None:
    job.write_files("skills", job.read("best", BestReport).texts.skills.files)
