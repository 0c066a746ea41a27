"""The student of a job, and its rollouts."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from skillmake.agent.environments.factory import make_environment
from skillmake.agent.loop import Agent, Prediction, check_errors
from skillmake.job import Job
from skillmake.llm.factory import make_client
from skillmake.questions import Question
from skillmake.texts import Texts


@contextmanager
def student(job: Job) -> Iterator[Agent]:
    """The agent with the job's student model; its connections are closed behind it."""
    environment = make_environment(job.config.agent, videos(job))
    client = make_client(
        job.config, "student", cache_dir=job.cache_dir, log_dir=job.log_dir, log_name=job.name
    )
    try:
        yield Agent(client, job.config.models.student, job.config.agent, environment)
    finally:
        client.close()


def videos(job: Job) -> Path:
    """Folder of the videos; only rules of an environment that looks things up are given it."""
    return Path() if job.config.agent.environment == "qa" else Path(job.config.data.videos)


def answer_all(job: Job, questions: Iterable[Question], texts: Texts) -> list[Prediction]:
    """Rollouts of all questions; raises TrainingAborted when more than `train.max_error_share` failed."""
    with student(job) as agent:
        rows = agent.run(questions, texts)
    check_errors(rows, job.config.train.max_error_share, job.config.models.student.model)
    return rows
