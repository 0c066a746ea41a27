"""epoch_end: the state that the next epoch starts from (SPEC §7.10)."""

from skillmake.benchmark import Benchmark
from skillmake.epoch_end import fold_momentum, fold_prompts
from skillmake.job import Job
from skillmake.momentum import MomentumReport
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.slow import BestReport, end_epoch
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    momentum, prompts = job.read("momentum", MomentumReport), job.read("prompts", PromptsReport)
    second, tried = job.read("validation2", SecondValidation), job.read("prompts_texts", Texts)
    state = fold_momentum(job.read("state", State), momentum, job.read("momentum_texts", Texts))
    state = fold_prompts(state, prompts, second, tried, benchmark.validation)
    best, epoch = job.read("best", BestReport), int(job.wildcards["e"])
    job.write("state", end_epoch(state, best, epoch, job.config.slow))
