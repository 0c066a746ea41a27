"""seed: the seed skills and prompts as the first version of the texts."""

from skillmake.benchmark import Split
from skillmake.job import Job
from skillmake.texts import seed_texts


def main(job: Job) -> None:
    job.write("texts", seed_texts(job.config.data, job.read("pools", Split).trainable))
