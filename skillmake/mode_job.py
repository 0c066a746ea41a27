"""What the jobs of infer, eval and diagnose read besides artefacts of one kind."""

from pathlib import Path

from pydantic import ValidationError

from skillmake.artifacts import read_json, read_model
from skillmake.chosen import BEST
from skillmake.errors import DataError
from skillmake.questions import Question
from skillmake.rollout import Rollout
from skillmake.runs import read_text
from skillmake.slow import BestReport
from skillmake.texts import Texts


def chosen_texts(path: Path) -> Texts:
    """The texts of a version that `skillmake.chosen` has found."""
    return read_model(path, BestReport).texts if path.name == BEST else read_model(path, Texts)


def any_rollout(path: Path) -> Rollout:
    """Rollouts of any artefact that has some: a step's, a validation, an evaluation."""
    value = read_json(path)
    try:
        return Rollout.model_validate({key: value[key] for key in Rollout.model_fields})
    except ValidationError as error:
        raise DataError(f"{path}: not a file of rollouts: {error.errors()[0]['msg']}") from None


def answered_questions(path: Path) -> dict[str, Question]:
    """Questions of an artefact by id. Those of `infer` may lack the twin whose right answer is not known."""
    lines = [line for line in read_text(path).split("\n") if line]
    if not lines:
        raise DataError(f"{path}: no right answer is known", "a diagnosis needs questions with an `answer`")
    try:
        found = [Question.model_validate_json(line) for line in lines]
    except ValidationError as error:
        raise DataError(f"{path}: not a file of questions: {error.errors()[0]['msg']}") from None
    return {question.question_id: question for question in found}
