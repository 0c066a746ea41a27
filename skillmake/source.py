"""Where the questions of a run come from: a file, or the known-truth world."""

from pathlib import Path

from skillmake.config.models import Config
from skillmake.questions import Question, load_questions
from skillmake.rehearsal.world import World

REHEARSAL = "rehearsal"  # the value of data.questions that means the world


def run_questions(config: Config, source: Path | None) -> list[Question]:
    """Questions of the file `source`, or of the world that `rehearsal` describes; sorted by id.

    Raises DataError with every problem of the file.
    """
    if source is not None:
        return load_questions(source)
    rows = World(config.rehearsal).questions()
    return sorted((Question.model_validate(row) for row in rows), key=lambda q: q.question_id)
