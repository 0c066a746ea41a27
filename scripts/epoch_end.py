"""epoch_end: the state and texts the next epoch starts from."""

from skillmake.job import Job
from skillmake.slow import BestReport, end_epoch
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    state, report = job.read("state", State), job.read("best", BestReport)
    job.write("state", end_epoch(state, report, int(job.wildcards["e"]), job.config.slow))
    job.write("texts", job.read("texts", Texts))
