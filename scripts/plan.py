"""plan: the batches of an epoch, or the reason to stop."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.plan import make_plan
from skillmake.state import State


def main(job: Job) -> None:
    config, benchmark = job.config, Benchmark.read(job.path("questions"), job.path("pools"))
    epoch, state = int(job.wildcards["e"]), job.read("state", State)
    plan = make_plan(state, epoch, benchmark.diagnosis, config.train, config.evolve, config.seed)
    job.write("plan", plan)
    job.say(f"epoch {epoch}: " + (f"stop, {plan.stop}" if plan.stop else f"{len(plan.batches)} steps"))
