"""momentum: guidance from the epoch's beginning and end, written into the skills that changed."""

from skillmake.benchmark import Benchmark
from skillmake.job import Job
from skillmake.momentum import with_guidance
from skillmake.momentum_job import make_momentum
from skillmake.state import State
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    start, now, state = job.read("start", Texts), job.read("texts", Texts), job.read("state", State)
    epoch = int(job.wildcards["e"])
    report = make_momentum(job, start, now, state, benchmark, epoch)
    job.write("momentum", report)
    job.write("texts", with_guidance(now, report, epoch))
    job.say(f"epoch {job.wildcards['e']}: {report.summary}")
