"""best: the version that R has measured, if it is strictly better than the best so far (SPEC §7.5)."""

from skillmake.job import Job
from skillmake.scores import Scores
from skillmake.slow import BestReport, Validation, choose_best
from skillmake.texts import Texts


def main(job: Job) -> None:
    texts, validation = job.read("texts", Texts), job.read("validation", Validation)
    previous, epoch = job.read("previous", BestReport), int(job.wildcards["e"])
    best = choose_best(previous, validation, texts, epoch, job.read("scores", Scores).overall.mixed)
    job.write("best", best)
    job.say(f"epoch {job.wildcards['e']}: best {best.best.accuracy:.3f} of epoch {best.best.epoch}")
