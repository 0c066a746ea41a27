"""Small things to test with."""

from skillmake.agent.loop import Prediction
from skillmake.packs import Case
from skillmake.questions import Question
from skillmake.units import Unit, make_units


def question(question_id: str, task_type: str = "alpha", **more: object) -> Question:
    """A two-option question whose answer is yes."""
    value = {
        "question_id": question_id,
        "task_type": task_type,
        "question": f"Is {question_id} so?",
        "options": ["yes", "no"],
        "answer": "yes",
        **more,
    }
    return Question.model_validate(value)


def units(n: int, task_type: str = "alpha", prefix: str = "u") -> list[Unit]:
    """n single units u00, u01, …"""
    return make_units([question(f"{prefix}{k:02d}", task_type) for k in range(n)])


def row(question_id: str, right: bool | None, call: str, **more: object) -> Prediction:
    """A rollout of a single question of type alpha; None is an infrastructure error."""
    value = {
        "question_id": question_id,
        "unit_id": question_id,
        "task_type": "alpha",
        "prediction": None if right is None else "yes",
        "right": right,
        "stop_reason": "error" if right is None else "answered",
        "calls": (call,),
        **more,
    }
    return Prediction.model_validate(value)


def case(question_id: str, right: bool, prediction: str = "no") -> Case:
    """A case of a pack; the answer is yes."""
    return Case(
        question_id=question_id,
        unit_id=question_id,
        question=f"Is {question_id} so?",
        options=("yes", "no"),
        answer="yes",
        prediction=prediction,
        right=right,
    )


ASKED = {"confirm_at": 20.0, "provisional_at": 2.0}  # of a decision
