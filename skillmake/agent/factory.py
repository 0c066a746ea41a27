"""The student of a job."""

from collections.abc import Iterator
from contextlib import contextmanager

from skillmake.agent.loop import Agent
from skillmake.job import Job
from skillmake.llm.factory import make_client


@contextmanager
def student(job: Job) -> Iterator[Agent]:
    """The agent with the job's student model; its connections are closed behind it."""
    client = make_client(
        job.config, "student", cache_dir=job.cache_dir, log_dir=job.log_dir, log_name=job.name
    )
    try:
        yield Agent(client, job.config.models.student, job.config.agent)
    finally:
        client.close()
