"""What a momentum job needs, from its configuration; or the reason why there is nothing to do."""

from skillmake.agent.factory import checked, student
from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.momentum import MomentumReport
from skillmake.momentum_run import MomentumGate, run_momentum
from skillmake.state import State
from skillmake.teachers.factory import momentum_teacher
from skillmake.texts import Texts


def make_momentum(
    job: Job, start: Texts, now: Texts, state: State, benchmark: Benchmark, epoch: int
) -> MomentumReport:
    """Step 6 of the slow update of `epoch` (1-based); `start`: texts that the epoch began with."""
    config = job.config
    if not config.slow.momentum:
        return MomentumReport(reason="slow.momentum is false")
    if config.evolve.teacher == "exemplar":
        return MomentumReport(reason="evolve.teacher: exemplar has no model that could write guidance")
    seed = (config.seed, epoch)
    with student(job) as agent, momentum_teacher(job) as teacher:
        gate = MomentumGate(agent, state, benchmark, config.gate, config.slow, seed)
        return run_momentum(
            start,
            now,
            benchmark,
            checked(job, agent),
            teacher,
            gate if config.slow.gate_momentum else None,
            most_samples=config.slow.momentum_samples,
            token_cap=config.evolve.skill_token_cap,
            seed=seed,
        )
