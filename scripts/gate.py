"""gate: is the candidate better than the current skill?"""

from skillmake.agent.factory import student
from skillmake.benchmark import Benchmark
from skillmake.candidate import Candidate
from skillmake.gating import gate_candidate
from skillmake.job import Job
from skillmake.ledger import confirm_threshold
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    state, candidate = job.read("state", State), job.read("candidate", Candidate)
    units = benchmark.ladder_units(candidate.task_type, use_diagnosis=job.config.gate.use_diagnosis)
    seed = (job.config.seed, state.step, candidate.task_type)
    test = state.step * len(benchmark.trainable) + benchmark.trainable.index(candidate.task_type) + 1
    confirm_at = confirm_threshold(state.ledger, test, job.config.gate)
    texts = job.read("texts", Texts)
    with student(job) as agent:
        in_flight = min(agent.slots, job.config.limits.gate_slots)
        result = gate_candidate(
            candidate, texts, state, units, agent, job.config.gate, seed, confirm_at, job.tell, in_flight
        )
    job.write("gate", result)
    job.say(f"epoch {job.wildcards['e']} step {job.wildcards['s']}: {result.summary}")
