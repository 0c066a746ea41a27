"""How the rehearsal judge judges a run with tools: by comparing what a tool found with what was given on.

A call is flawed where its extract prompt left out words that the question needs and that no other call of
that tool gave; then this tool's prompt is to blame. Who answers while no option stands out and windows that
were found are left unread was not told to read on: a hole in the system prompt. Else it is the skill: a
defect while it lacks a useful habit, a lapse after.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillmake.rehearsal.habits import LEFT_OUT, READ_ON, SKILL
from skillmake.rehearsal.judge import View, verdict
from skillmake.rehearsal.reading import LINE, read_text, shares, stands_out, stems
from skillmake.rehearsal.students import fill

STEP = re.compile(r"(?m)^Step (\d+): ")
CALLED = re.compile(r"calls (\w+) ")
FOUND = "    What the tool found:\n"
GIVEN = "    What its extract prompt made of it, and the agent was given:\n"
ALONE = "    What the agent was given:\n"
OPTIONS = re.compile(r"(?m)^Options: (.+)$")
STOPPED = "Answered although no option stood out, and left windows unread that were found"
EXPECTED = re.compile(r"(?m)^Expected answer: (.+)$")
QUESTION = re.compile(r"(?s)^# The question\n(.*?)(?=^Options: |^# )", re.MULTILINE)
WRONG = "\nGraded: WRONG\n"


@dataclass(frozen=True)
class Flaw:
    """A step that left words out."""

    step: int
    tool: str
    words: tuple[str, ...]


def has_calls(text: str) -> bool:
    """Whether a judge's prompt shows a run with tool calls."""
    return bool(re.search(rf"{STEP.pattern}.*?{CALLED.pattern}", text))


def judge_trace(text: str, schema: Mapping[str, Any], errs: bool) -> str:
    """A JSON answer of the schema's shape; `errs`: the opposite of the truth is told."""
    wrong = WRONG in text
    flaws = left_out(text) if wrong else []
    told = set(schema.get("properties", {}))
    stopped = wrong and not flaws and "verdict" in told and READ_ON not in text and stopped_early(text)
    is_defect = bool(flaws) or stopped or any(sentence not in text for sentence in SKILL["useful"])
    view = View(is_defect, wrong, "skill", errs)
    known: dict[str, Any] = {"why": "", "blame": "skill", "tool": ""}
    if flaws and {"spans", "verdict"} & told:
        lost = ", ".join(flaws[0].words)
        why = f"The extract prompt of {flaws[0].tool} {LEFT_OUT} {lost}"
        known = {"why": why, "blame": "tool", "tool": flaws[0].tool}
    elif stopped:
        known = {"why": STOPPED, "blame": "system", "tool": ""}

    def leaf(name: str, part: Mapping[str, Any]) -> Any:
        return known[name] if name in known else verdict(view, name, part)

    value = fill(schema, schema, leaf)
    if "spans" in value:
        value["spans"] = spans(text, value["spans"][0], {flaw.step for flaw in flaws})
    return json.dumps(value)


def spans(text: str, last: Mapping[str, Any], flawed: set[int]) -> list[dict[str, Any]]:
    """A span for each step that a judge's prompt shows; `last` is that of the last, those before are sound
    unless they are `flawed`."""
    count = max((int(number) for number in STEP.findall(text)), default=1)
    before = [{**last, "step": k, "sound": k not in flawed} for k in range(1, count)]
    return [*before, {**last, "step": count}]


def stopped_early(text: str) -> bool:
    """Whether no option stands out by what was read, and windows that were found were not read."""
    options = OPTIONS.findall(text)
    if not options or sorted(options[-1].split("; ")) == ["no", "yes"]:
        return False
    calls = _calls(text)
    reads = [step for _, tool, step in calls if tool == "read_node"]
    found = {line[0] for _, _, step in calls for line in LINE.findall(dedented(step)) if line[-1] == "leaf"}
    read = "\n".join(read_text(dedented(_given(step)).strip()) for step in reads)
    unread = [name for name in found if not any(f'"{name}"' in step for step in reads)]
    return bool(unread) and not stands_out(shares(options[-1].split("; "), [read]))


def dedented(text: str) -> str:
    """A step's texts as the agent saw them."""
    return re.sub(r"(?m)^    ", "", text)


def left_out(text: str) -> list[Flaw]:
    """Steps that left out a word that is needed and that no step with the same tool gave."""
    calls, flaws = _calls(text), []
    for number, tool, step in calls:
        given = {word for _, other, each in calls if other == tool for word in stems(_given(each))}
        found = stems(step.partition(FOUND)[2].partition(GIVEN)[0])
        lost = tuple(word for word in needed(text) if word in found and word not in given)
        flaws += [Flaw(number, tool, lost)] if lost else []
    return flaws


def needed(text: str) -> Sequence[str]:
    """Words of the expected answer; of the question where that is yes or no."""
    expected, question = EXPECTED.findall(text), QUESTION.search(text)
    answer = expected[-1] if expected else ""
    if answer.lower() in ("yes", "no") and question:
        return stems(question[1])
    return stems(answer)


def _calls(text: str) -> list[tuple[int, str, str]]:
    """Number, tool and text of each step with a call."""
    _, *parts = STEP.split(text.split("\nExpected answer: ")[0])
    steps = zip(parts[::2], parts[1::2], strict=True)
    return [(int(k), called[1], part) for k, part in steps if (called := CALLED.search(part))]


def _given(step: str) -> str:
    return next((step.partition(mark)[2] for mark in (GIVEN, ALONE) if mark in step), step)
