"""A student without a model that really uses the tools of a video tree: it searches, reads, and answers by
the words that it read. What it does is decided by habits, sentences that its skill may contain; so a skill
can be trained on real captions, and its gain is real, though of its own kind (DESIGN §3).

Each turn is a pure function of the messages and the tools. An option is scored by the share of its words that
were read; a question of yes or no is answered yes unless a habit says when to doubt. What is read is what the
tools' prompts have left of a window (`reading`), so these too can be trained.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillmake.artifacts import canonical_line
from skillmake.llm.types import ChatResponse, Message
from skillmake.rehearsal.habits import (
    AROUND,
    COUNT,
    DOUBT,
    FIRST_WINDOW,
    READ_MANY,
    READ_NONE,
    READ_ON,
    SEARCH_OPTIONS,
    SHORTEST,
    WALK,
)
from skillmake.rehearsal.reading import LINE, SENTENCE_END, meaningful, read_text, shares, stands_out, stems
from skillmake.rehearsal.students import content

READS, MANY = 2, 5  # windows
ROOT = re.compile(r"root node (\S+),")
SCOPE = re.compile(r"The question is about ([\d.]+)-([\d.]+) s\.")
OPTION = re.compile(r"(?m)^- (.+)$")
OPTIONS_LINE = re.compile(r"Answer with exactly one of: (.+)\.")
SIDE = re.compile(r"\b(before|after)\b")
FURTHER = re.compile(r"Check: Look further: (.+)\.")
VIEW = "view_frames"
LAST_TURN = "last turn"


@dataclass(frozen=True)
class Hit:
    """A line that a tool gave: a window with its seconds."""

    node_id: str
    span: tuple[float, float]
    is_leaf: bool


def turn(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> ChatResponse:
    """The next turn: what is left to look up, else the answer."""
    names = {tool["function"]["name"] for tool in tools}
    view = _View(messages, can_look=VIEW in names)
    wanted = [] if view.is_last else [c for c in view.wanted() if c[0] in names and c not in view.made]
    if not wanted:
        return ChatResponse(text=f"Answer: {view.answer()}")
    calls = [
        {
            "id": f"call_{len(view.made) + place}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for place, (name, arguments) in enumerate(wanted)
    ]
    return ChatResponse(text="", finish="tool_calls", tool_calls=tuple(calls))


class _View:
    """What the student knows from the messages of a run."""

    def __init__(self, messages: Sequence[Message], can_look: bool) -> None:
        self.can_look = can_look
        first = max(place for place, m in enumerate(messages) if _is_question(m))
        self.asked = content(messages[first])
        later = messages[first + 1 :]
        self.results = [content(m) for m in later if m.get("role") == "tool"]
        self.made = [
            (call["function"]["name"], call["function"]["arguments"])
            for m in later
            for call in m.get("tool_calls") or ()
        ]
        self.is_last = any(m.get("role") == "user" and LAST_TURN in content(m) for m in later)
        system = "\n".join(content(m) for m in messages[:first])
        skills = [
            text for (name, _), text in zip(self.made, self.results, strict=False) if name == "read_skill"
        ]
        self.skill = "\n".join([system, *skills])
        self.options = OPTION.findall(self.asked) or _listed(system)
        self.question = re.split(r"\n\n(?:Options:|Video )", self.asked)[0]

    def wanted(self) -> list[tuple[str, str]]:
        """Calls that the habits ask for, also those made before: the skill, searches, then windows.

        Where no caption has a word that was searched for, pictures are looked at instead.
        """
        searches = self._searches()
        if not self.made:
            return [("read_skill", "{}"), *searches]
        if any(search not in self.made for search in searches):
            return searches
        if self.can_look and not self._hits("search_captions"):
            return self._looks()
        walk = self._walk("read_node") if WALK in self.skill else []
        around = self._around() if AROUND in self.skill else []
        calls = [*walk, *around, *self._reads()]
        if any(call not in self.made for call in calls):
            return calls
        return self._further(searches) or (self._reads_on() if READ_ON in self.skill else [])

    def _reads_on(self) -> list[tuple[str, str]]:
        """The next windows that were found, while what was read does not set one option apart."""
        if self._is_yes_no or stands_out(self._shares()):
            return []
        return [call for call in self._leaves() if call not in self.made][:READS]

    def _around(self) -> list[tuple[str, str]]:
        """The neighbour of the best window, on the side of it that the question is about."""
        best = next((hit for hit in self._hits("search_captions") if hit.is_leaf), None)
        side = SIDE.search(self.question)
        parent = best.node_id.rpartition(".")[0] if best else ""
        if not parent or best is None or side is None:
            return []
        beside = [hit for hit in self._hits("list_children") if hit.node_id.startswith(f"{parent}.")]
        later = [hit for hit in beside if hit.span[0] >= best.span[1]]
        earlier = [hit for hit in beside if hit.span[1] <= best.span[0]]
        near = later[:1] if side[1] == "after" else earlier[-1:]
        calls = [("list_children", parent), *(("read_node", hit.node_id) for hit in near)]
        return [(tool, _arguments(node_id=name)) for tool, name in calls]

    def _further(self, searches: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """One more search, for the words that every check of a window has named as missing."""
        named = [set(found[1].split()) for text in self.results if (found := FURTHER.search(text))]
        made = [call for call in self.made if call[0] == "search_captions"]
        missing = set.intersection(*named) if named else set()
        if not missing or any(call not in searches for call in made):
            return []
        words = [word for word in meaningful(self.question) if word in missing]
        return [("search_captions", _arguments(query=" ".join(words)))]

    def _looks(self) -> list[tuple[str, str]]:
        """Pictures of the seconds that the question is about, else of the whole video."""
        walk, root = self._walk(VIEW), ROOT.search(self.asked)
        if root is None or any(call not in self.made or call[0] == VIEW for call in walk):
            return walk
        return [(VIEW, _arguments(node_id=root[1]))]

    def _searches(self) -> list[tuple[str, str]]:
        texts = [self.question]
        if SEARCH_OPTIONS in self.skill and not self._is_yes_no:
            texts += self.options
        found = [" ".join(meaningful(text)) or text for text in texts]
        return [("search_captions", _arguments(query=text)) for text in dict.fromkeys(found)]

    def _walk(self, tool: str) -> list[tuple[str, str]]:
        """Down to the windows in the seconds that the question is about, and the tool on these."""
        scope, root = SCOPE.search(self.asked), ROOT.search(self.asked)
        if scope is None or root is None:
            return []
        start, end = float(scope[1]), float(scope[2])
        inside = [hit for hit in self._hits() if hit.span[0] < end and start < hit.span[1]]
        inner = [root[1], *(hit.node_id for hit in inside if not hit.is_leaf)]
        walk = [("list_children", _arguments(node_id=name)) for name in dict.fromkeys(inner)]
        leaves = [hit.node_id for hit in inside if hit.is_leaf][: self._most]
        return [*walk, *((tool, _arguments(node_id=name)) for name in dict.fromkeys(leaves))]

    def _reads(self) -> list[tuple[str, str]]:
        return self._leaves()[: self._most]

    def _leaves(self) -> list[tuple[str, str]]:
        """Reads of the windows that were found, best first."""
        leaves = dict.fromkeys(hit.node_id for hit in self._hits("search_captions") if hit.is_leaf)
        return [("read_node", _arguments(node_id=name)) for name in leaves]

    @property
    def _most(self) -> int:
        if READ_NONE in self.skill:
            return 0
        return 1 if FIRST_WINDOW in self.skill else MANY if READ_MANY in self.skill else READS

    def _hits(self, tool: str | None = None) -> list[Hit]:
        lists = [
            [Hit(i, (float(a), float(b)), kind == "leaf") for i, a, b, kind in LINE.findall(text)]
            for (name, _), text in zip(self.made, self.results, strict=False)
            if tool in (None, name)
        ]
        # The best hit of each search comes before the second of any
        longest = max(map(len, lists), default=0)
        return [hits[place] for place in range(longest) for hits in lists if place < len(hits)]

    @property
    def _is_yes_no(self) -> bool:
        return sorted(option.lower() for option in self.options) == ["no", "yes"]

    def answer(self) -> str:
        """The option that what was read speaks for; the first of equals."""
        if not self.options:
            return "I do not know"
        if SHORTEST in self.skill:
            return min(self.options, key=len)
        if self._is_yes_no:
            named = any(set(stems(self.question)) <= set(stems(window)) for window in self._read())
            said = "no" if DOUBT in self.skill and not named else "yes"
            return next(option for option in self.options if option.lower() == said)
        found = self._shares()
        return max(self.options, key=lambda option: found[option])

    def _read(self) -> list[str]:
        """What was read or looked at, a text for each window."""
        made = zip(self.made, self.results, strict=False)
        return [read_text(text) for (name, _), text in made if name in ("read_node", VIEW)]

    def _shares(self) -> dict[str, float]:
        """How much what was read speaks for each option."""
        read = self._read()
        parts = [part for text in read for part in SENTENCE_END.split(text)] if COUNT in self.skill else []
        return shares(self.options, parts or ["\n".join(read)])


def _is_question(message: Message) -> bool:
    return message.get("role") == "user" and LAST_TURN not in content(message)


def _listed(system: str) -> list[str]:
    found = OPTIONS_LINE.findall(system)
    return found[-1].split("; ") if found else []


def _arguments(**values: Any) -> str:
    # In the form in which the agent shows a call again
    return canonical_line(values)
