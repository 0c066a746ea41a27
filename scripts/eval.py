"""eval: a version on all questions of the run."""

from skillmake.agent.factory import answer_all
from skillmake.artifacts import read_model
from skillmake.benchmark import Benchmark, Split
from skillmake.evaluation import evaluate, report_text
from skillmake.job import Job
from skillmake.mode_job import chosen_texts
from skillmake.rollout import Rollout


def main(job: Job) -> None:
    texts, split = chosen_texts(job.path("texts")), read_model(job.path("pools"), Split)
    benchmark = Benchmark.read(job.path("questions"), job.path("pools"))
    rollout = Rollout.of(texts, answer_all(job, benchmark.questions.values(), texts))
    report = evaluate(rollout, benchmark, split.pools.model_dump(), job.config.models.student.title)
    text = report_text(report)
    job.write("rollout", rollout)
    job.write("version", texts)
    job.write("report", report)
    job.write_text("table", text)
    job.say(text)
