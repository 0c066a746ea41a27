"""The leak guard: nothing of a held-out question may enter a skill (SPEC §5)."""

import re
from collections.abc import Iterable

from rapidfuzz import fuzz, process

from skillmake.edits import Edit
from skillmake.questions import Question

SHINGLE = 12
FEWEST_WORDS = 4
TOO_SIMILAR = 90.0
# Kana and Han have no spaces between words, so each sign counts as a word.
UNSPACED = "\\u3040-\\u30ff\\u3400-\\u9fff"
WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


class LeakGuard:
    """Knows the questions of validation and test.

    A text leaks if it holds a whole question of at least FEWEST_WORDS words, or SHINGLE of its words in a
    row, or an id of a held-out question (a bare number says nothing and may occur); a worked example also
    if it is nearly the same text.
    """

    def __init__(self, held_out: Iterable[Question]) -> None:
        ordered = sorted(held_out, key=lambda question: question.question_id)
        self._ids = [question.question_id for question in ordered if not question.question_id.isdigit()]
        self._texts = [" ".join(_words(question.question)) for question in ordered]
        self._names = [question.question_id for question in ordered]
        self._shingles: dict[tuple[str, ...], str] = {}
        self._short: dict[int, dict[tuple[str, ...], str]] = {}
        for question in ordered:
            words = _words(question.question)
            for run in _runs(words, SHINGLE):
                self._shingles.setdefault(run, question.question_id)
            if FEWEST_WORDS <= len(words) < SHINGLE:
                self._short.setdefault(len(words), {}).setdefault(tuple(words), question.question_id)

    def reason(self, edit: Edit) -> str | None:
        """Why this edit is refused, naming the held-out question; None if it is clean."""
        near = self._near(_words(edit.text)) if edit.answer else None
        copied = (self._copied(part) for part in (edit.text, edit.answer, edit.section) if part)
        return next(filter(None, copied), near)

    def _copied(self, text: str) -> str | None:
        for name in self._ids:
            if name in text and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
                return f"names the held-out question {name}"
        words = _words(text)
        for run in _runs(words, SHINGLE):
            if run in self._shingles:
                return f"copies {SHINGLE} words of the held-out question {self._shingles[run]}"
        for length, known in self._short.items():
            for run in _runs(words, length):
                if run in known:
                    return f"copies the held-out question {known[run]}"
        return None

    def _near(self, words: list[str]) -> str | None:
        if len(words) < FEWEST_WORDS:
            return None
        found = process.extractOne(" ".join(words), self._texts, scorer=fuzz.ratio, score_cutoff=TOO_SIMILAR)
        return f"is nearly the held-out question {self._names[found[2]]}" if found else None


def _words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


def _runs(words: list[str], length: int) -> Iterable[tuple[str, ...]]:
    return (tuple(words[k : k + length]) for k in range(len(words) - length + 1))
