"""promote: a version, the run's questions and their rollouts as a seed for new runs."""

from skillmake.job import Job
from skillmake.rollout import Rollout
from skillmake.seeds import promoted
from skillmake.texts import Texts


def main(job: Job) -> None:
    texts, rollout = job.read("version", Texts), job.read("rollout", Rollout)
    questions = job.path("questions")
    job.write("seed", promoted(job.config.run, rollout, questions, job.config))
    job.write("baseline", rollout)
    job.write_text("questions", questions.read_text(encoding="utf-8"))
    job.write_files("skills", texts.skills.files)
    job.write_files("prompts", texts.prompts.files)
    job.say(f"promote: skills {rollout.skills} with prompts {rollout.prompts}, {rollout.summary}")
