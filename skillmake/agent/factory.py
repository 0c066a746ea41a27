"""The student of a job, and its rollouts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from skillmake.agent.loop import Agent, Prediction, check_errors
from skillmake.job import Job
from skillmake.llm.factory import make_client
from skillmake.questions import Question
from skillmake.texts import Texts


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


def answer_all(job: Job, questions: Iterable[Question], texts: Texts) -> list[Prediction]:
    """Rollouts of all questions; raises TrainingAborted when more than `train.max_error_share` failed."""
    with student(job) as agent:
        return checked(job, agent)(list(questions), texts)


def checked(job: Job, agent: Agent) -> Callable[[Sequence[Question], Texts], list[Prediction]]:
    """Rollouts with an agent that is open already, with the same check for errors."""

    def answer(questions: Sequence[Question], texts: Texts) -> list[Prediction]:
        rows = agent.run(questions, texts)
        check_errors(rows, job.config.train.max_error_share, job.config.models.student.model)
        return rows

    return answer
