"""questions: the benchmark, validated and in canonical form; or that of the known-truth world."""

from skillmake.artifacts import canonical_line
from skillmake.job import Job
from skillmake.source import run_questions


def main(job: Job) -> None:
    questions = run_questions(job.config, job.path("source") if job.paths("source") else None)
    job.write_text("questions", "".join(canonical_line(q) + "\n" for q in questions))
    job.say(f"{len(questions)} questions, {len({q.unit_id for q in questions})} units")
