"""epoch_end: the epoch's report, and the state the next epoch starts from (SPEC §7, 9-10)."""

from skillmake.benchmark import Benchmark
from skillmake.epoch_end import fold_momentum, fold_prompts
from skillmake.epoch_report import SlowFiles, make_report
from skillmake.holdout import Holdout
from skillmake.job import Job
from skillmake.momentum import MomentumReport
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.scores import Scores
from skillmake.slow import BestReport, ProbationReport, Validation, end_epoch
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    files = SlowFiles(
        validation=job.read("validation", Validation),
        scores=job.read("scores", Scores),
        probations=job.read("probation", ProbationReport),
        momentum=job.read("momentum", MomentumReport),
        prompts=job.read("prompts", PromptsReport),
        second=job.read("validation2", SecondValidation),
        best=job.read("best", BestReport),
        texts=job.read("texts", Texts),
        holdout=next(iter(job.read_all("holdout", Holdout)), None),
    )
    state = fold_momentum(job.read("state", State), files.momentum, job.read("momentum_texts", Texts))
    tried = job.read("prompts_texts", Texts)
    state = fold_prompts(state, files.prompts, files.second, tried, benchmark.validation)
    after = end_epoch(state, files.best, int(job.wildcards["e"]), job.config.slow)
    job.write("report", make_report(job.read("start", State), after, files))
    job.write("state", after)
