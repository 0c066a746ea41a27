"""diagnose_rollouts: what went wrong in given rollouts, found out as a training step would."""

from skillmake.job import Job
from skillmake.judges.factory import diagnosis
from skillmake.mode_job import any_rollout, chosen_texts
from skillmake.questions import load_questions


def main(job: Job) -> None:
    questions = {question.question_id: question for question in load_questions(job.path("questions"))}
    rows = any_rollout(job.path("rollout")).rows
    with diagnosis(job, *job.wildcards["d"].split(".")) as diagnose:
        found = diagnose(rows, questions, chosen_texts(job.path("texts")))
    job.write("diagnosis", found)
