"""pools: diagnosis, validation and test; the task types that can be trained."""

from skillmake.benchmark import split
from skillmake.job import Job
from skillmake.questions import load_questions


def main(job: Job) -> None:
    result = split(load_questions(job.path("questions")), job.config)
    job.write("pools", result)
    for task_type, reason in result.dropped.items():
        job.say(f"not trained: {task_type}: {reason}")
