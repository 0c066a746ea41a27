"""seed: the seed skills and prompts as the first version of the texts."""

from pathlib import Path

from skillmake.benchmark import Split
from skillmake.job import Job
from skillmake.texts import own_skills, read_seed


def main(job: Job) -> None:
    config = job.config.data
    texts = read_seed(Path(config.skills), Path(config.prompts))
    if config.own_skill_per_type:
        texts = own_skills(texts, list(job.read("pools", Split).trainable))
    job.write("texts", texts)
