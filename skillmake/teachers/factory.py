"""The teacher that `evolve.teacher` names."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillmake.evolve import Teacher
from skillmake.job import Job
from skillmake.llm.factory import make_client
from skillmake.structured import Asker
from skillmake.teachers.exemplar import ExemplarTeacher
from skillmake.teachers.llm import LlmTeacher
from skillmake.teachers.templates import Templates


@contextmanager
def teacher(job: Job) -> Iterator[Teacher]:
    """The job's teacher; the connections of an `llm` teacher are closed behind it."""
    config = job.config
    if config.evolve.teacher == "exemplar":
        yield ExemplarTeacher()
        return
    client = make_client(config, "teacher", cache_dir=job.cache_dir, log_dir=job.log_dir, log_name=job.name)
    try:
        yield LlmTeacher(
            client,
            config.models.teacher,
            Templates(Path(config.evolve.templates)),
            config.evolve.mode,
            config.evolve.rank,
        )
    finally:
        client.close()


@contextmanager
def prompt_teacher(job: Job) -> Iterator[Asker | None]:
    """What `evolve_prompt` asks; None where the teacher is no model. Needs what `teacher` needs."""
    config = job.config
    if config.evolve.teacher != "llm":
        yield None
        return
    client = make_client(config, "teacher", cache_dir=job.cache_dir, log_dir=job.log_dir, log_name=job.name)
    try:
        yield Asker(client, config.models.teacher, Templates(Path(config.evolve.templates)))
    finally:
        client.close()
