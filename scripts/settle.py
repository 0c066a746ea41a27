"""settle: the step's decisions become the next state and texts."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.rollout import Rollout
from skillmake.settle import GateResult, fold_rollout, settle
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    state, texts = job.read("state", State), job.read("texts", Texts)
    folded = fold_rollout(state, job.read("rollout", Rollout).rows, benchmark.diagnosis)
    gates = job.read_all("gates", GateResult)
    after, new_texts = settle(folded, texts, gates, benchmark.validation, state.step + 1)
    job.write("state", after)
    job.write("texts", new_texts)
