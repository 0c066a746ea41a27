"""infer: answers to questions of any file; nothing of the run is changed."""

from skillmake.agent.factory import answer_all
from skillmake.artifacts import canonical_line
from skillmake.infer import load_asked, predictions, summary, ungraded
from skillmake.job import Job
from skillmake.mode_job import chosen_texts
from skillmake.rollout import Rollout


def main(job: Job) -> None:
    modes, texts = job.config.modes, chosen_texts(job.path("texts"))
    asked = load_asked(job.path("asked"), modes.types, modes.first)
    rows = answer_all(job, asked.questions, texts)
    found = predictions(asked, rows)
    known = [question for question in asked.questions if question.question_id in asked.labelled]
    job.write_text("predictions", "".join(canonical_line(row) + "\n" for row in found))
    job.write_text("questions", "".join(canonical_line(question) + "\n" for question in known))
    job.write("rollout", Rollout.of(texts, ungraded(asked, rows)))
    job.write("version", texts)
    job.say(f"infer: {summary(asked, found)}")
