"""gate: is the candidate better than the current skill?"""

from skillmake.agent.factory import student
from skillmake.benchmark import Benchmark
from skillmake.evolve import Candidate
from skillmake.gating import gate_candidate
from skillmake.job import Job
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    state, candidate = job.read("state", State), job.read("candidate", Candidate)
    units = benchmark.ladder_units(candidate.task_type, use_diagnosis=job.config.gate.use_diagnosis)
    seed = (job.config.seed, state.step, candidate.task_type)
    with student(job) as agent:
        result = gate_candidate(
            candidate, job.read("texts", Texts), state, units, agent, job.config.gate, seed
        )
    job.write("gate", result)
    job.say(f"epoch {job.wildcards['e']} step {job.wildcards['s']}: {result.summary}")
