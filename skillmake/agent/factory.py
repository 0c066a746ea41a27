"""The student of a job or of a command, and its rollouts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path

from skillmake.agent.environments.factory import make_environment
from skillmake.agent.loop import Agent, Prediction, Rollouts, check_errors
from skillmake.agent.vision import Vision
from skillmake.config.models import Config
from skillmake.job import Job
from skillmake.llm.client import Client
from skillmake.llm.factory import job_client, make_client
from skillmake.llm.types import Role
from skillmake.questions import Question
from skillmake.texts import Texts


@contextmanager
def open_student(config: Config, *, cache_dir: Path, log_dir: Path, log_name: str) -> Iterator[Agent]:
    """The agent with the student and the vision model of `config`; their connections are closed behind it."""

    def opened(role: Role) -> AbstractContextManager[Client]:
        return closing(make_client(config, role, cache_dir=cache_dir, log_dir=log_dir, log_name=log_name))

    with _agent(config, opened) as agent:
        yield agent


def student(job: Job) -> AbstractContextManager[Agent]:
    """The agent of a job."""
    return _agent(job.config, partial(job_client, job))


@contextmanager
def _agent(config: Config, opened: Callable[[Role], AbstractContextManager[Client]]) -> Iterator[Agent]:
    environment = make_environment(config.agent, videos(config))
    eyes = None if config.agent.environment == "qa" else config.models.vision
    with opened("student") as client, opened("vision") if eyes else nullcontext() as seeing:
        vision = Vision(seeing, eyes) if seeing and eyes else None
        yield Agent(client, config.models.student, config.agent, environment, vision)


def videos(config: Config) -> Path:
    """Folder of the videos; like models.vision only given where the environment looks things up."""
    return Path() if config.agent.environment == "qa" else Path(config.data.videos)


def answer_all(
    job: Job, questions: Iterable[Question], texts: Texts, stored: Sequence[Prediction] = ()
) -> list[Prediction]:
    """Rollouts of all questions; raises TrainingAborted when more than `train.max_error_share` failed.

    `stored`: rollouts made before. One that is the very run that would be made now is taken as it is.
    """
    asked = list(questions)
    with student(job) as agent:
        seen = {row.question_id: row.observation for row in stored}
        same = agent.known(asked, texts, seen)
        taken = [row.model_copy(update={"looked_up": True}) for row in stored if row.question_id in same]
        left = [question for question in asked if question.question_id not in same]
        return [*taken, *checked(job, agent)([Rollouts(left, texts)])[0]]


def checked(job: Job, agent: Agent) -> Callable[[Sequence[Rollouts]], list[list[Prediction]]]:
    """Rollouts with an agent that is open already, with the same check for errors."""

    def answer(wanted: Sequence[Rollouts]) -> list[list[Prediction]]:
        found = agent.run_together(wanted)
        for rows in found:
            check_errors(rows, job.config.train.max_error_share, agent.name)
        return found

    return answer
