"""rollout: the questions of a step's batch answered with the current texts."""

from skillmake.agent.factory import answer_all
from skillmake.benchmark import Benchmark, questions_of
from skillmake.job import Job
from skillmake.plan import Plan
from skillmake.rollout import Rollout
from skillmake.settle import check_one_type_per_file
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark, texts = Benchmark.read(job.path("questions"), job.path("pools")), job.read("texts", Texts)
    batch = job.read("plan", Plan).batches[int(job.wildcards["s"]) - 1]
    units = [benchmark.units[unit_id] for unit_id in batch.units]
    check_one_type_per_file(sorted({unit.task_type for unit in units}), texts)
    rollout = Rollout.of(texts, answer_all(job, questions_of(units), texts))
    job.write("rollout", rollout)
    job.say(f"epoch {job.wildcards['e']} step {job.wildcards['s']}: batch {rollout.summary}")
