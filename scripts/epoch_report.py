"""epoch_report: what the epoch has brought (SPEC §7.9)."""

from skillmake.epoch_report import SlowFiles, make_report
from skillmake.holdout import Holdout
from skillmake.job import Job
from skillmake.momentum import MomentumReport
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.scores import Scores
from skillmake.slow import BestReport, ProbationReport, Validation
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
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
    job.write("report", make_report(job.read("start", State), job.read("state", State), files))
