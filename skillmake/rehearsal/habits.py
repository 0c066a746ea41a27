"""Sentences that a tree agent's texts may contain, and what its rehearsal teacher writes (DESIGN §3).

A sentence works where it stands word for word: in a skill, and in the system prompt what holds for every
question, it changes how the student looks (`looker`), in a tool's prompt what is kept of a result
(`reading`). `useful` is meant to help; whether it does on given videos is for the gate and for R2 to find
out. The teacher draws each sentence's kind by the world's shares; of the useful ones it prefers those that
fit the failures it is shown.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillmake.llm.types import Message
from skillmake.rehearsal.students import TYPE_LINE, chance, pick, type_of, whole

if TYPE_CHECKING:
    from skillmake.rehearsal.world import World

SEARCH_OPTIONS = "Search for the words of each option as well as for the words of the question."
READ_MANY = "Read five windows of those that were found before answering."
COUNT = "Count the sentences that speak for each option and choose the one with most."
AROUND = "Where the question says before or after, read the window next to the one found, on that side."
DOUBT = "Answer no when no window that was read names all that the question asks about."
WALK = "Walk down the tree to the seconds that the question is about and read the windows there."
READ_ON = "Read on, two windows at a time, while no option stands out by what was read."
SHORTEST = "Choose the shortest option when there is little time."
READ_NONE = "Answer from what the search shows, without reading a window."
FIRST_WINDOW = "Read only the window that was found first."
SKILL: Mapping[str, Sequence[str]] = {
    "useful": (SEARCH_OPTIONS, READ_MANY, COUNT, AROUND, DOUBT, WALK),
    "harmful": (SHORTEST, READ_NONE, FIRST_WINDOW),
    "useless": (
        "Keep the order of the windows in mind while reading.",
        "Mind the colours that a window names.",
        "Think of who does what, and to whom.",
        "Read the question again before answering.",
        "Note the place of what happens.",
        "Look at the length of the video first.",
    ),
}
FAILED = re.compile(r"(?m)^- id (\S+) \(WRONG\)\n((?:  .*\n?)*)")
REJECTED = re.compile(r"(?m)^- add: (.+) \((wins .*)\)$")
CHOICE = r"Options: (?!yes; no$|no; yes$)"
FITS: Mapping[str, str] = {  # what a failure looks like that the habit may put right, as its case shows it
    SEARCH_OPTIONS: CHOICE,
    READ_MANY: "",
    COUNT: CHOICE,
    AROUND: r"Question: .*\b(before|after)\b",
    DOUBT: r"Expected: no\. Given: yes\.",
    WALK: "and not read: ",
}

KEEP_ALL = "Keep every sentence that names a thing of the question or of its options."
FIRST_ONLY = "Keep one sentence or line, the first that may matter."
HIDE_OPTIONS = "Leave out every sentence that names one of the options, so that nothing is given away."
NAME_MISSING = "Name each word of the question that was not found."
CALL_IT_ENOUGH = "Say that it is enough, so that no time is lost."
PLAIN: Sequence[str] = (
    "Write in the present tense.",
    "Keep names as the source writes them.",
    "Use no headings and no lists.",
    "Do not repeat the question.",
    "Write in English.",
)
TOOL: Mapping[str, Mapping[str, Sequence[str]]] = {
    "extract": {"useful": (KEEP_ALL,), "harmful": (FIRST_ONLY, HIDE_OPTIONS), "useless": PLAIN},
    "verify": {"useful": (NAME_MISSING,), "harmful": (CALL_IT_ENOUGH,), "useless": PLAIN},
}
SYSTEM: Mapping[str, Sequence[str]] = {
    "useful": (READ_ON,),
    "harmful": (READ_NONE, FIRST_WINDOW),
    "useless": PLAIN,
}
LEFT_OUT = "left out what names"  # how the judge of traces says that an extract prompt is to blame
SKILL_NOW = re.compile(r"(?s)^# The skill now\n(.*?)(?=^# |\Z)", re.MULTILINE)
TEXT_NOW = r"(?s)^# {} now\n(.*?)(?=^# |\Z)"


def habits(world: "World", messages: Sequence[Message]) -> list[dict[str, Any]]:
    """One to three edits for a task type that is not of the world: sentences that its skill does not hold,
    and by preference none that was tried alone and put nothing right.

    None where the request names no task type.
    """
    text = whole(messages)
    if not TYPE_LINE.search(text) or type_of(world, text) is not None:
        return []
    shown = SKILL_NOW.search(text)
    known = shown[1] if shown else text
    failed = FAILED.findall(text)
    tried = _without_win(text)
    pools = {kind: [s for s in all_ if s not in tried] or all_ for kind, all_ in SKILL.items()}
    fitting = [s for s in pools["useful"] if s not in known and _fitting(s, failed)]
    pools["useful"] = fitting or pools["useful"]
    found: list[str] = []
    for number in range(1 + int(chance("habits", world.config.seed, text) * 3)):
        kind = _kind(world, text, number)
        found += _new(world, pools, kind, known + "".join(found), (text, number))
    wrong = [question_id for question_id, _ in failed]
    return [_edit(sentence, (_fitting(sentence, failed) or wrong)[:3]) for sentence in found]


def tool_texts(world: "World", messages: Sequence[Message]) -> dict[str, str]:
    """A tool's two texts with one new sentence in one of them; as they are where there is none left.

    It goes into the extract prompt where that is to blame, or where it helps, until nothing is left for it.
    """
    text = whole(messages)
    now = {part: _text_now(text, part) for part in TOOL}
    kind = _kind(world, text, 0)
    parts = [part for part in TOOL if any(sentence not in now[part] for sentence in TOOL[part][kind])]
    if not parts:
        return now
    is_blamed = kind == "useful" or LEFT_OUT in text
    part = parts[0] if is_blamed else pick(parts, "part", world.config.seed, text)
    return {**now, part: "\n".join([now[part], *_new(world, TOOL[part], kind, now[part], text)])}


def system_text(world: "World", messages: Sequence[Message]) -> str:
    """The system prompt with one new sentence; as it is where there is none left."""
    text = whole(messages)
    now = _text_now(text, "The system prompt")
    return "\n".join([now, *_new(world, SYSTEM, _kind(world, text, 0), now, text)])


def _kind(world: "World", *key: Any) -> str:
    config = world.config
    draw = chance("habit kind", config.seed, *key)
    if draw < config.useful_share:
        return "useful"
    return "harmful" if draw < config.useful_share + config.harmful_share else "useless"


def _new(world: "World", pools: Mapping[str, Sequence[str]], kind: str, known: str, key: Any) -> list[str]:
    """A sentence of the kind that `known` does not hold, else a useless one; empty where none is left."""
    left = [s for s in pools[kind] if s not in known] or [s for s in pools["useless"] if s not in known]
    return [pick(left, "habit", world.config.seed, key)] if left else []


def _text_now(text: str, part: str) -> str:
    found = re.search(TEXT_NOW.format(part), text, re.MULTILINE)
    return found[1].strip() if found else ""


def _without_win(text: str) -> list[str]:
    """Sentences that were rejected without a win and not in company, which might be to blame for that.

    Edits that were tried together have the same numbers, one below the other.
    """
    lines = REJECTED.findall(text)
    numbers = ["", *(of for _, of in lines), ""]
    around = zip(lines, numbers, numbers[2:], strict=False)
    return [s for (s, of), before, after in around if of.startswith("wins 0,") and of not in (before, after)]


def _fitting(sentence: str, failed: Sequence[tuple[str, str]]) -> list[str]:
    """Ids of the failures that the sentence may put right; of none where nothing is known of it."""
    pattern = FITS.get(sentence)
    return [name for name, told in failed if pattern is not None and re.search(f"(?im){pattern}", told)]


def _edit(sentence: str, support: Sequence[str]) -> dict[str, Any]:
    plain = {"op": "add", "anchor": "", "section": "Rules", "answer": "", "reason": "Seen in the runs"}
    return {**plain, "text": sentence, "support": list(support)}
