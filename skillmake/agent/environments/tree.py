"""`agent.environment: tree`: a video as a tree of windows that the agent walks with four tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillmake.agent.environments.base import Tool, ToolResult
from skillmake.agent.render import build_messages
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import DataError
from skillmake.llm.types import Message
from skillmake.questions import Question
from skillmake.tree import MOST_FRAMES, Forest, Node, VideoTree, data_url, evenly

SNIPPET = 160  # characters of a caption in a list
MOST_HITS, HITS = 10, 5
FRAMES = 4


def _schema(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


NODE = {"type": "string", "description": "Id of a node, as 0.2.1; the root is given with the question."}
LIST_CHILDREN = Tool(
    "list_children",
    "The windows inside of a node, in order of time, with the beginnings of their captions.",
    _schema(["node_id"], node_id=NODE),
)
READ_NODE = Tool("read_node", "The whole caption of a node.", _schema(["node_id"], node_id=NODE))
SEARCH_CAPTIONS = Tool(
    "search_captions",
    "The windows whose captions are most like a text, best first, with the beginnings of their captions.",
    _schema(
        ["query"],
        query={"type": "string", "minLength": 1, "maxLength": 500, "description": "Words to look for."},
        limit={"type": "integer", "minimum": 1, "maximum": MOST_HITS, "description": f"Default {HITS}."},
    ),
)
VIEW_FRAMES = Tool(
    "view_frames",
    "What a vision model sees in frames of a node, evenly chosen over its time.",
    _schema(
        ["node_id"],
        node_id=NODE,
        limit={"type": "integer", "minimum": 1, "maximum": MOST_FRAMES, "description": f"Default {FRAMES}."},
    ),
)


class TreeEnvironment:
    """Trees of the folder `videos` by `video_id`; `scope.span` of a question is the part it is about."""

    def __init__(self, config: AgentConfig, videos: Path) -> None:
        self._config, self._forest = config, Forest(videos)

    def messages(self, question: Question, system: str, skill: str) -> tuple[Message, ...]:
        config = self._config
        *before, last = build_messages(question, system, skill, config.options_in, config.nearest_examples)
        return (*before, {**last, "content": f"{last['content']}\n\n{self._about(question)}"})

    def open(self, question: Question) -> "TreeContext":
        tree = self._tree(question)
        span = scope_span(question, tree)
        evidence = tuple(node.node_id for node in tree.leaves(span)) if span else ()
        return TreeContext(tree, self._forest.folder, self._forest.digest(tree.video_id), evidence)

    def _tree(self, question: Question) -> VideoTree:
        if question.video_id is None:
            raise DataError(
                f"question {question.question_id}: no video_id", "agent.environment: tree needs one each"
            )
        try:
            return self._forest.tree(question.video_id)
        except DataError as error:
            raise DataError(f"question {question.question_id}: {error.message}", error.hint) from None

    def _about(self, question: Question) -> str:
        tree = self._tree(question)
        text = (
            f"Video {tree.video_id}: {tree.duration:g} s, root node {tree.root.node_id}, "
            f"{len(tree.leaves())} windows at the leaves."
        )
        span = scope_span(question, tree)
        return f"{text} The question is about {span[0]:g}-{span[1]:g} s." if span else text


def scope_span(question: Question, tree: VideoTree) -> tuple[float, float] | None:
    """`scope.span` of a question as seconds within the video, None without one; DataError if it is none."""
    span = question.scope.get("span")
    if span is None:
        return None
    bounds = [part for part in span if isinstance(part, (int, float))] if isinstance(span, list) else []
    if len(bounds) == 2 and 0 <= bounds[0] <= bounds[1] and bounds[0] < tree.duration:
        return float(bounds[0]), min(float(bounds[1]), tree.duration)
    raise DataError(
        f"question {question.question_id}: scope.span {span} is not within {tree.duration:g} s of the video",
        "give [start, end] in seconds",
    )


@dataclass(frozen=True)
class TreeContext:
    """The tools over one tree; frames can be viewed where it has any."""

    tree: VideoTree
    folder: Path
    digest: str
    evidence: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[Tool, ...]:
        has_frames = any(node.frames for node in self.tree.nodes)
        return (LIST_CHILDREN, READ_NODE, SEARCH_CAPTIONS, *([VIEW_FRAMES] if has_frames else []))

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        if "node_id" in arguments and arguments["node_id"] not in self.tree.by_id:
            text = f"there is no node {arguments['node_id']!r}; list_children shows the ids"
            return ToolResult(text, is_error=True)
        functions: dict[str, Callable[..., ToolResult]] = {
            LIST_CHILDREN.name: self._list_children,
            READ_NODE.name: self._read_node,
            SEARCH_CAPTIONS.name: self._search,
            VIEW_FRAMES.name: self._view_frames,
        }
        return functions[tool](**arguments)

    def _list_children(self, node_id: str) -> ToolResult:
        children = self.tree.children(node_id)
        if not children:
            text = f"Node {node_id} is a leaf: it has no children. read_node gives its caption."
            return ToolResult(text, is_notice=True)
        return ToolResult("\n".join(self._line(node) for node in children))

    def _read_node(self, node_id: str) -> ToolResult:
        node = self.tree.by_id[node_id]
        parent = f", inside of {node.parent}" if node.parent else ""
        head = f"Node {node_id}, {_time(node)}{parent}, {self._below(node)}."
        return ToolResult(f"{head}\n{node.caption or '(no caption)'}", nodes=(node_id,))

    def _search(self, query: str, limit: int = HITS) -> ToolResult:
        hits = self.tree.search(query, limit)
        if not hits:
            text = f"No caption has a word of {query!r}. Try other words, or list_children."
            look = " view_frames shows what captions do not say." if VIEW_FRAMES in self.tools else ""
            return ToolResult(text + look, is_notice=True)
        return ToolResult("\n".join(self._line(node) for node in hits))

    def _view_frames(self, node_id: str, limit: int = FRAMES) -> ToolResult:
        frames = self.tree.frames_below(node_id)
        if not frames:
            return ToolResult(f"node {node_id} has no frames; read_node gives its caption.", is_error=True)
        chosen = evenly(frames, limit)
        text = f"Node {node_id}, {_time(self.tree.by_id[node_id])}: {len(chosen)} of {len(frames)} frames."
        return ToolResult(text, (node_id,), tuple(data_url(self.folder / frame) for frame in chosen))

    def _line(self, node: Node) -> str:
        caption = " ".join(node.caption.split())
        short = caption if len(caption) <= SNIPPET else f"{caption[:SNIPPET]}…"
        return f"{node.node_id} [{_time(node)}, {self._below(node)}] {short}"

    def _below(self, node: Node) -> str:
        count = len(self.tree.children(node.node_id))
        return f"{count} children" if count else "leaf"


def _time(node: Node) -> str:
    return f"{node.span[0]:g}-{node.span[1]:g} s"
