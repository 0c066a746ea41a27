"""best: the measured version with the highest validation accuracy so far."""

from skillmake.job import Job
from skillmake.slow import BestReport, Validation, choose_best
from skillmake.texts import Texts


def main(job: Job) -> None:
    previous, validation = job.read("previous", BestReport), job.read("validation", Validation)
    report = choose_best(previous, validation, job.read("texts", Texts), int(job.wildcards["e"]))
    job.write("best", report)
    job.say(f"epoch {job.wildcards['e']}: best {report.best.accuracy:.3f} of epoch {report.best.epoch}")
