"""diagnose_rollouts: what went wrong in given rollouts, found out as a training step would."""

from skillmake.job import Job
from skillmake.judges.factory import diagnosis
from skillmake.mode_job import answered_questions, any_rollout, chosen_texts


def main(job: Job) -> None:
    questions = answered_questions(job.path("questions"))
    rows = any_rollout(job.path("rollout")).rows
    with diagnosis(job, *job.wildcards["d"].split(".")) as diagnose:
        found = diagnose(rows, questions, chosen_texts(job.path("texts")))
    job.write("diagnosis", found)
