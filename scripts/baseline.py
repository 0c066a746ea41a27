"""baseline: all questions answered with the seed texts."""

from skillmake.agent.factory import answer_all
from skillmake.job import Job
from skillmake.questions import load_questions
from skillmake.rollout import Rollout
from skillmake.texts import Texts


def main(job: Job) -> None:
    questions, texts = load_questions(job.path("questions")), job.read("texts", Texts)
    rollout = Rollout.of(texts, answer_all(job, questions, texts))
    job.write("rollout", rollout)
    job.say(f"baseline: {rollout.summary}")
