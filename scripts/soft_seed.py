"""soft_seed: soft scores of the seed's validation answers, so that its mixed score can be compared."""

from skillmake.benchmark import Benchmark, questions_of
from skillmake.job import Job
from skillmake.judges.factory import soft_scores
from skillmake.rollout import Rollout
from skillmake.texts import Texts


def main(job: Job) -> None:
    benchmark, texts = Benchmark.read(job.path("questions"), job.path("pools")), job.read("texts", Texts)
    inside = {question.question_id for question in questions_of(benchmark.validation)}
    rows = [row for row in job.read("baseline", Rollout).rows if row.question_id in inside]
    soft = soft_scores(job, rows, benchmark, texts)
    job.write("soft", soft)
    job.say(f"seed: {soft.summary}")
