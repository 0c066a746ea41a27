"""Small things to test with."""

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
