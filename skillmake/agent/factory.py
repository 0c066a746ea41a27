"""The student of a job or of a command, and its rollouts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from skillmake.agent.environments.factory import make_environment
from skillmake.agent.loop import Agent, Prediction, check_errors
from skillmake.config.models import Config
from skillmake.job import Job
from skillmake.llm.client import Client
from skillmake.llm.factory import job_client, make_client
from skillmake.questions import Question
from skillmake.texts import Texts


@contextmanager
def open_student(config: Config, *, cache_dir: Path, log_dir: Path, log_name: str) -> Iterator[Agent]:
    """The agent with the student model of `config`; its connections are closed behind it."""
    client = make_client(config, "student", cache_dir=cache_dir, log_dir=log_dir, log_name=log_name)
    try:
        yield _agent(config, client)
    finally:
        client.close()


@contextmanager
def student(job: Job) -> Iterator[Agent]:
    """The agent of a job."""
    with job_client(job, "student") as client:
        yield _agent(job.config, client)


def _agent(config: Config, client: Client) -> Agent:
    environment = make_environment(config.agent, videos(config))
    return Agent(client, config.models.student, config.agent, environment)


def videos(config: Config) -> Path:
    """Folder of the videos; only rules of an environment that looks things up are given it."""
    return Path() if config.agent.environment == "qa" else Path(config.data.videos)


def answer_all(job: Job, questions: Iterable[Question], texts: Texts) -> list[Prediction]:
    """Rollouts of all questions; raises TrainingAborted when more than `train.max_error_share` failed."""
    with student(job) as agent:
        return checked(job, agent)(list(questions), texts)


def checked(job: Job, agent: Agent) -> Callable[[Sequence[Question], Texts], list[Prediction]]:
    """Rollouts with an agent that is open already, with the same check for errors."""

    def answer(questions: Sequence[Question], texts: Texts) -> list[Prediction]:
        rows = agent.run(questions, texts)
        check_errors(rows, job.config.train.max_error_share, agent.name)
        return rows

    return answer
