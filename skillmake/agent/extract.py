"""The answer in a free text: strict, so that a guess is never read into it."""

import re
from collections.abc import Sequence

ANSWER_LINE = re.compile(r"^\W*(?:final\s+)?answer\s*(?:is)?\s*[:=]\s*(.+?)\s*$", re.IGNORECASE)


def extract_choice(text: str, options: Sequence[str]) -> str | None:
    """The option that `text` gives as its answer, or None.

    In this order: the whole text is an option; its last `Answer: …` line is one; exactly one option
    is mentioned as whole words (a shorter option inside a longer one does not count).
    """
    folded = {_fold(option): option for option in options}
    if (whole := folded.get(_fold(text))) is not None:
        return whole
    marked = [match.group(1) for line in text.splitlines() if (match := ANSWER_LINE.match(line))]
    if marked:
        return folded.get(_fold(marked[-1])) or _only_mention(marked[-1], folded)
    return _only_mention(text, folded)


def extract_free(text: str) -> str | None:
    """The text behind the last `Answer:`, else the whole text if it is one line, else None."""
    marked = [match.group(1) for line in text.splitlines() if (match := ANSWER_LINE.match(line))]
    if marked:
        return str(marked[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if len(lines) == 1 else None


def whole_answers(text: str) -> str:
    """What a text that was cut off can still answer: its `Answer: …` lines that are whole."""
    return "\n".join(line for line in text.split("\n")[:-1] if ANSWER_LINE.match(line))


def _only_mention(text: str, folded: dict[str, str]) -> str | None:
    rest, found = _fold(text), []
    for key in sorted(folded, key=lambda k: (-len(k), k)):
        pattern = rf"(?<!\w){re.escape(key)}(?!\w)"
        if re.search(pattern, rest):
            found.append(folded[key])
            rest = re.sub(pattern, " ", rest)
    return found[0] if len(found) == 1 else None


def _fold(text: str) -> str:
    return " ".join(text.casefold().strip().strip(".,;:!?\"'`*()[]").split())
