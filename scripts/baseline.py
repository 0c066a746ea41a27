"""baseline: all questions answered with the seed texts."""

from skillmake.agent.factory import student
from skillmake.agent.loop import check_errors
from skillmake.job import Job
from skillmake.questions import load_questions
from skillmake.rollout import Rollout
from skillmake.texts import Texts


def main(job: Job) -> None:
    questions, texts = load_questions(job.path("questions")), job.read("texts", Texts)
    with student(job) as agent:
        rollout = Rollout.of(texts, agent.run(questions, texts))
    check_errors(rollout.rows, job.config.train.max_error_share, job.config.models.student.model)
    job.write("rollout", rollout)
    job.say(f"baseline: {rollout.summary}")
