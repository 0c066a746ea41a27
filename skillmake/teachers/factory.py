"""The teacher that `evolve.teacher` names."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillmake.evolve import Teacher
from skillmake.job import Job
from skillmake.llm.factory import job_client
from skillmake.momentum import MomentumTeacher
from skillmake.structured import Asker
from skillmake.teachers.exemplar import ExemplarTeacher
from skillmake.teachers.llm import LlmTeacher
from skillmake.teachers.momentum import LlmMomentumTeacher
from skillmake.teachers.templates import Templates


@contextmanager
def teacher(job: Job) -> Iterator[Teacher]:
    """The job's teacher; the connections of an `llm` teacher are closed behind it."""
    config = job.config
    if config.evolve.teacher == "exemplar":
        yield ExemplarTeacher()
        return
    with job_client(job, "teacher") as client:
        yield LlmTeacher(
            client,
            config.models.teacher,
            Templates(Path(config.evolve.templates)),
            config.evolve.mode,
            config.evolve.rank,
        )


@contextmanager
def momentum_teacher(job: Job) -> Iterator[MomentumTeacher]:
    """The job's `llm` teacher as it writes momentum."""
    config = job.config
    with job_client(job, "teacher") as client:
        yield LlmMomentumTeacher(client, config.models.teacher, Templates(Path(config.slow.templates)))


@contextmanager
def prompt_teacher(job: Job) -> Iterator[Asker]:
    """The job's `llm` teacher as `evolve_records` asks it."""
    config = job.config
    with job_client(job, "teacher") as client:
        yield Asker(client, config.models.teacher, Templates(Path(config.evolve.templates)))
