"""A student without a model that really uses the tools of a video tree: it searches, reads, and answers by
the words that it read. What it does is decided by habits, sentences that its skill may contain; so a skill
can be trained on real captions, and its gain is real, though of its own kind (DESIGN §3).

Each turn is a pure function of the messages and the tools. An option is scored by the share of its words that
were read; a question of yes or no is answered yes unless a habit says when to doubt.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillmake.artifacts import canonical_line
from skillmake.llm.types import ChatResponse, Message
from skillmake.rehearsal.students import TYPE_LINE, content, pick, type_of, whole, words

if TYPE_CHECKING:
    from skillmake.rehearsal.world import World

SEARCH_OPTIONS = "Search for the words of each option as well as for the words of the question."
READ_MANY = "Read five windows of those that were found before answering."
DOUBT = "Answer no when no window that was read names all that the question asks about."
WALK = "Walk down the tree to the seconds that the question is about and read the windows there."
SHORTEST = "Choose the shortest option when there is little time."
READ_NONE = "Answer from what the search shows, without reading a window."
KEEP_ALL = "Keep every sentence that names a thing of the question or of its options."
USEFUL = (SEARCH_OPTIONS, READ_MANY, DOUBT, WALK)
HARMFUL = (SHORTEST, READ_NONE)
USELESS = (
    "Keep the order of the windows in mind while reading.",
    "Mind the colours that a window names.",
    "Think of who does what, and to whom.",
    "Read the question again before answering.",
    "Note the place of what happens.",
    "Look at the length of the video first.",
)
READS = 2
FEWEST_SHARED = 2  # words an extract without the habit wants to see in a sentence
LINE = re.compile(r"(?m)^(\S+) \[([\d.]+)-([\d.]+) s, (leaf|\d+ children)\]")
ROOT = re.compile(r"root node (\S+),")
SCOPE = re.compile(r"The question is about ([\d.]+)-([\d.]+) s\.")
OPTION = re.compile(r"(?m)^- (.+)$")
OPTIONS_LINE = re.compile(r"Answer with exactly one of: (.+)\.")
VIEW = "view_frames"
RESULT = "\n\nResult:\n"
LAST_TURN = "last turn"
PLAIN_WORDS = frozenset(
    words(
        "a, an, the, is, are, was, were, be, in, on, at, of, to, and, or, with, does, do, did, video, what, "
        "who, where, when, why, how, while, after, before, his, her, its, their, there, it, he, she, they, "
        "for, from, by, that, this, as, into, up, out, then"
    )
)


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
        return [*walk, *self._reads()]

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
        leaves = list(dict.fromkeys(hit.node_id for hit in self._hits("search_captions") if hit.is_leaf))
        return [("read_node", _arguments(node_id=name)) for name in leaves[: self._most]]

    @property
    def _most(self) -> int:
        if READ_NONE in self.skill:
            return 0
        return 5 if READ_MANY in self.skill else READS

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
        read = [
            set(stems(text))
            for (name, _), text in zip(self.made, self.results, strict=False)
            if name in ("read_node", VIEW)
        ]
        if self._is_yes_no:
            named = any(set(stems(self.question)) <= window for window in read)
            said = "no" if DOUBT in self.skill and not named else "yes"
            return next(option for option in self.options if option.lower() == said)
        known = set().union(*read)
        return max(self.options, key=lambda option: _share(stems(option), known))


def is_refining(messages: Sequence[Message]) -> bool:
    """Whether a request asks about the result of a tool call."""
    return len(messages) == 2 and RESULT in content(messages[1]) and "\n\nTool call: " in content(messages[1])


def refine(messages: Sequence[Message]) -> str:
    """The answer to an extract or verify prompt (told apart by what the prompt asks for).

    An extract keeps lines of windows whole; of a caption it keeps the sentences with at least two words of
    the question or its options, or with one where the prompt has that habit, and else the first sentence.
    """
    instruction, (asked, result) = content(messages[0]), content(messages[1]).split(RESULT, 1)
    wanted = set(stems(asked.split("\n\nTool call: ")[0]))
    if "is enough" in instruction or "Say in one sentence" in instruction:
        return "Enough." if len(wanted & set(stems(result))) >= FEWEST_SHARED else "Look further."
    if LINE.search(result):
        return result
    sentences = re.split(r"(?<=[.!?])\s+|\n", result)
    least = 1 if KEEP_ALL in instruction else FEWEST_SHARED
    kept = [sentence for sentence in sentences if len(wanted & set(stems(sentence))) >= least]
    return " ".join(kept or sentences[:1])


def habits(world: "World", messages: Sequence[Message]) -> list[dict[str, Any]]:
    """One edit for a task type that is not of the world: a habit that the request does not show yet, of a
    kind drawn by the world's shares. None where the request names no task type.
    """
    text, config = whole(messages), world.config
    if not TYPE_LINE.search(text) or type_of(world, text) is not None:
        return []
    shares = {"useful": config.useful_share, "harmful": config.harmful_share, "useless": config.useless_share}
    pools = {"useful": USEFUL, "harmful": HARMFUL, "useless": USELESS}
    if re.search(r"tools/\w+/extract|extract prompt", text):
        pools["useful"] = (KEEP_ALL,)
    kinds = [kind for kind, share in shares.items() for _ in range(round(100 * share))]
    kind = pick(kinds, "habit kind", config.seed, text)
    left = [sentence for sentence in pools[kind] if sentence not in text]
    left = left or [sentence for sentence in pools["useless"] if sentence not in text]
    if not left:
        return []
    return [
        {
            "op": "add",
            "anchor": "",
            "section": "Rules",
            "text": pick(left, "habit", config.seed, text),
            "answer": "",
            "reason": "Seen in the runs",
            "support": re.findall(r"(?m)^- id (\S+) \(WRONG\)", text)[:3],
        }
    ]


def meaningful(text: str) -> list[str]:
    """Words that mean something, in order, each once."""
    found = re.findall(r"[a-z0-9]+", text.lower())
    return list(dict.fromkeys(word for word in found if word not in PLAIN_WORDS))


def stems(text: str) -> list[str]:
    """The first four letters of words that mean something, in order, each once."""
    return list(dict.fromkeys(word[:4] for word in meaningful(text)))


def _share(wanted: Sequence[str], known: set[str]) -> float:
    return sum(word in known for word in wanted) / len(wanted) if wanted else 0.0


def _is_question(message: Message) -> bool:
    return message.get("role") == "user" and LAST_TURN not in content(message)


def _listed(system: str) -> list[str]:
    found = OPTIONS_LINE.findall(system)
    return found[-1].split("; ") if found else []


def _arguments(**values: Any) -> str:
    # In the form in which the agent shows a call again
    return canonical_line(values)
