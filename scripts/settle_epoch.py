"""settle_epoch: scores of R, its outcomes written back, probations settled, best (SPEC §7, 2-5)."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.scores import SoftScores, known_soft, score
from skillmake.slow import (
    BestReport,
    ProbationReport,
    Validation,
    choose_best,
    settle_probations,
    write_back,
)
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    state, texts = job.read("state", State), job.read("texts", Texts)
    validation, units, config = job.read("validation", Validation), benchmark.validation, job.config
    soft = known_soft(job.read_all("soft", SoftScores))
    scores = score(validation, units, soft)
    job.write("scores", scores)
    written = write_back(state, validation, units)
    after, new_texts, outcomes = settle_probations(
        written, texts, validation, units, config.slow, config.train.cooldown_steps
    )
    job.write("state", after)
    job.write("texts", new_texts)
    job.write("probation", ProbationReport(outcomes=tuple(outcomes)))
    previous, epoch = job.read("previous", BestReport), int(job.wildcards["e"])
    best = choose_best(previous, validation, texts, epoch, scores.overall.mixed)
    job.write("best", best)
    job.say(f"epoch {job.wildcards['e']}: best {best.best.accuracy:.3f} of epoch {best.best.epoch}")
