"""Right or wrong: the graders, one small function each."""

import re
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from skillmake.errors import ConfigError, DataError
from skillmake.questions import Question

NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Grader(Protocol):
    def __call__(self, prediction: str, question: Question) -> bool: ...


def make_grader(name: str, *, tolerance: float = 0.0, f1_threshold: float = 0.5) -> Grader:
    """The grader called `name`; `module:function` names a callable (prediction, question) → bool.

    Raises ConfigError for a name that does not exist.
    """
    built_in: dict[str, Grader] = {
        "choice": lambda prediction, question: prediction == question.answer,
        "exact": lambda prediction, question: _words(prediction) == _words(question.answer),
        "numeric": lambda prediction, question: _close(prediction, question, tolerance),
        "f1": lambda prediction, question: word_f1(prediction, question.answer) >= f1_threshold,
    }
    if name in built_in:
        return built_in[name]
    return _checked(name, _load(name, sorted(built_in)))


def word_f1(prediction: str, answer: str) -> float:
    """F1 of the two bags of words, in [0, 1] (Rajpurkar et al. 2016, SQuAD)."""
    got, gold = Counter(_words(prediction)), Counter(_words(answer))
    common = sum((got & gold).values())
    return 2 * common / (sum(got.values()) + sum(gold.values())) if common else 0.0


def _close(prediction: str, question: Question, tolerance: float) -> bool:
    gold = _number(question.answer)
    if gold is None:
        raise DataError(f"question {question.question_id}: answer {question.answer!r} is not a number")
    got = _number(prediction)
    return got is not None and abs(got - gold) <= tolerance


def _number(text: str) -> float | None:
    found = NUMBER.findall(text)
    return float(found[0].replace(",", "")) if len(found) == 1 else None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _load(name: str, known: list[str]) -> Callable[[str, Question], object]:
    module, _, function = name.partition(":")
    if not function:
        raise ConfigError(
            f"agent.grader: no grader {name!r}", f"use {', '.join(known)} or `module:function` of your own"
        )
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"agent.grader: cannot load {name!r}: {error}") from None
    if not callable(found):
        raise ConfigError(f"agent.grader: {name!r} is not callable")
    return found  # type: ignore[no-any-return]


def _checked(name: str, function: Callable[[str, Question], object]) -> Grader:
    def grade(prediction: str, question: Question) -> bool:
        try:
            right = function(prediction, question)
        except Exception as error:  # the user's code: anything may come out of it
            raise DataError(
                f"agent.grader {name}: failed on question {question.question_id}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(right, bool):
            raise DataError(f"agent.grader {name}: question {question.question_id}: {right!r} is not a bool")
        return right

    return grade
