"""evolve: a candidate for the skill of one task type."""

from skillmake.benchmark import Benchmark
from skillmake.evolve import assign, carried_candidate, make_candidate
from skillmake.guards import LeakGuard
from skillmake.job import Job
from skillmake.packs import Diagnosis
from skillmake.plan import Plan
from skillmake.state import State
from skillmake.teachers.factory import teacher
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    state, texts = job.read("state", State), job.read("texts", Texts)
    budget = job.read("plan", Plan).batches[int(job.wildcards["s"]) - 1].edit_budget
    task_type = benchmark.type_of(job.wildcards["t"])
    if (waiting := carried_candidate(state, texts, task_type)) is not None:
        job.write("candidate", waiting)
        return
    diagnosis, seed = job.read("diagnosis", Diagnosis), (job.config.seed, state.step)
    memory = job.config.evolve.rejected_memory
    assignment = assign(task_type, texts, diagnosis, state, budget, seed, memory)
    with teacher(job) as chosen:
        candidate = make_candidate(
            assignment,
            texts.skill_path(task_type),
            chosen,
            LeakGuard(benchmark.held_out),
            job.config.evolve,
            state.cooldowns.get(task_type, 0),
        )
    job.write("candidate", candidate)
