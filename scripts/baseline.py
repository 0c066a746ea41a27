"""baseline: all questions answered with the seed texts; what a promoted seed has stored is not asked."""

from skillmake.agent.factory import answer_all
from skillmake.job import Job
from skillmake.questions import load_questions
from skillmake.rollout import Rollout
from skillmake.seeds import read_stored
from skillmake.texts import Texts


def main(job: Job) -> None:
    questions, texts = load_questions(job.path("questions")), job.read("texts", Texts)
    stored = read_stored(job.paths("stored"), questions, job.config)
    rollout = Rollout.of(texts, answer_all(job, questions, texts, stored.rows))
    job.write("rollout", rollout)
    if stored.why_not:
        job.say(f"baseline: {stored.why_not}, so all questions are asked")
    if stored.rows:
        job.say(f"baseline: {sum(row.looked_up for row in rollout.rows)} rollouts are those of the seed")
    job.say(f"baseline: {rollout.summary}")
