"""questions: the benchmark, validated and in canonical form; or that of the known-truth world."""

from skillmake.artifacts import canonical_line
from skillmake.job import Job
from skillmake.questions import Question, load_questions
from skillmake.rehearsal.world import World


def main(job: Job) -> None:
    if job.paths("source"):
        questions = load_questions(job.path("source"))
    else:
        questions = [Question.model_validate(row) for row in World(job.config.rehearsal).questions()]
    lines = [canonical_line(q) + "\n" for q in sorted(questions, key=lambda q: q.question_id)]
    job.write_text("questions", "".join(lines))
    job.say(f"{len(questions)} questions, {len({q.unit_id for q in questions})} units")
