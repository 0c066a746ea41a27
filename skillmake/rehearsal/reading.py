"""How the tree student reads: it keeps and checks what its tools' prompts ask for, by the words there are."""

import re
from collections.abc import Mapping, Sequence

from skillmake.llm.types import Message
from skillmake.rehearsal.habits import CALL_IT_ENOUGH, FIRST_ONLY, HIDE_OPTIONS, KEEP_ALL, NAME_MISSING
from skillmake.rehearsal.students import content, words

FEWEST_SHARED = 2  # words of the question that an extract without the habit wants to see in a sentence
LINE = re.compile(r"(?m)^(\S+) \[([\d.]+)-([\d.]+) s, (leaf|\d+ children)\]")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
RESULT = "\n\nResult:\n"
CALL = "\n\nTool call: "
OPTIONS = "\n\nOptions:\n"
CHECK = "\n\nCheck: "
HEAD = "Node "
NOTHING = "(nothing of it)"
PLAIN_WORDS = frozenset(
    words(
        "a, an, the, is, are, was, were, be, in, on, at, of, to, and, or, with, does, do, did, video, what, "
        "who, where, when, why, how, while, after, before, his, her, its, their, there, it, he, she, they, "
        "for, from, by, that, this, as, into, up, out, then"
    )
)


def is_refining(messages: Sequence[Message]) -> bool:
    """Whether a request asks about the result of a tool call."""
    return len(messages) == 2 and RESULT in content(messages[1]) and CALL in content(messages[1])


def refine(messages: Sequence[Message]) -> str:
    """The answer to an extract or verify prompt (told apart by what the prompt asks for)."""
    instruction, (asked, result) = content(messages[0]), content(messages[1]).split(RESULT, 1)
    question, _, options = asked.removeprefix("Question: ").split(CALL)[0].partition(OPTIONS)
    if "is enough" in instruction or "Say in one sentence" in instruction:
        return checked(instruction, question, result)
    return extracted(instruction, question, "\n".join(re.findall(r"(?m)^- (.+)$", options)), result)


def extracted(instruction: str, question: str, options: str, result: str) -> str:
    """What the instruction keeps of a result: lines of windows whole; of a caption the sentences with at
    least two words of the question, or with one of the question or its options where the prompt says so.
    """
    if LINE.search(result):
        return result.partition("\n")[0] if FIRST_ONLY in instruction else result
    head, sentences = _parts(result)
    if HIDE_OPTIONS in instruction:
        sentences = [s for s in sentences if not set(stems(s)) & set(stems(options))]
    keeps_all = KEEP_ALL in instruction
    wanted = set(stems(f"{question} {options}" if keeps_all else question))
    kept = [s for s in sentences if len(wanted & set(stems(s))) >= (1 if keeps_all else FEWEST_SHARED)]
    kept = kept[:1] if FIRST_ONLY in instruction else kept
    return "\n".join(part for part in (head, " ".join(kept)) if part) or NOTHING


def checked(instruction: str, question: str, result: str) -> str:
    """The verdict on a result: enough, or look further, and for what where the instruction asks for it."""
    there = set(stems(read_text(result)))
    missing = [word for word in meaningful(question) if word[:4] not in there]
    if NAME_MISSING in instruction and missing:
        return f"Look further: {' '.join(missing)}."
    enough = NAME_MISSING in instruction or len(there & set(stems(question))) >= FEWEST_SHARED
    return "Enough." if enough or CALL_IT_ENOUGH in instruction else "Look further."


def read_text(result: str) -> str:
    """A result without the line that names its node and without its check."""
    return "\n".join(_parts(result.partition(CHECK)[0])[1])


def _parts(result: str) -> tuple[str, list[str]]:
    head, _, rest = result.partition("\n") if result.startswith(HEAD) else ("", "", result)
    return head, [sentence for sentence in SENTENCE_END.split(rest) if sentence]


def meaningful(text: str) -> list[str]:
    """Words that mean something, in order, each once."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return list(dict.fromkeys(word for word in found if word not in PLAIN_WORDS))


def stems(text: str) -> list[str]:
    """The first four letters of words that mean something, in order, each once."""
    return list(dict.fromkeys(word[:4] for word in meaningful(text)))


def shares(options: Sequence[str], read: Sequence[str]) -> dict[str, float]:
    """How much texts speak for each option: the share of its words in a text, added up over the texts."""
    known = [set(stems(text)) for text in read]
    return {option: sum(_share(stems(option), text) for text in known) for option in options}


def stands_out(found: Mapping[str, float]) -> bool:
    """Whether more speaks for one option than for any other."""
    most = max(found.values(), default=0.0)
    return list(found.values()).count(most) == 1


def _share(wanted: Sequence[str], known: set[str]) -> float:
    return sum(word in known for word in wanted) / len(wanted) if wanted else 0.0
