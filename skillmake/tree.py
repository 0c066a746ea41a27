"""A video as a tree: windows with captions, frames at the leaves; checked when it is read (SPEC §2 words)."""

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from pydantic import Field, ValidationError

from skillmake.artifacts import Artifact, digest, sha256
from skillmake.errors import DataError
from skillmake.given import read_given
from skillmake.search import TextIndex

LONGEST_CAPTION = 20_000  # characters; an hour of speech has three times that, and belongs into windows
LARGEST_FRAME = 5_000_000  # bytes; eight of them are near to what endpoints take in one request
# First bytes of the kinds of pictures that OpenAI's image parts may hold
KINDS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
MOST_FRAMES = 8  # that a vision model is shown at once
MOST_SHOWN = 20
VIDEO_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SLACK = 1e-6  # seconds: window bounds are sums of floats


class Node(Artifact):
    """One window. `span`: start and end in seconds; `frames`: picture files, relative to the folder."""

    node_id: str = Field(min_length=1)
    parent: str | None
    span: tuple[float, float]
    caption: str = ""
    frames: tuple[str, ...] = ()

    def overlaps(self, span: tuple[float, float]) -> bool:
        """Whether the window shares time with `span` (seconds); a span without length is a moment."""
        start, end = span
        if start == end:
            return self.span[0] <= start < self.span[1]
        return self.span[0] < end and start < self.span[1]


class VideoTree(Artifact):
    """The nodes of one video of `duration` seconds; exactly one has no parent."""

    video_id: str
    duration: float = Field(gt=0, allow_inf_nan=False)
    nodes: tuple[Node, ...] = Field(min_length=1)

    @cached_property
    def by_id(self) -> dict[str, Node]:
        return {node.node_id: node for node in self.nodes}

    @cached_property
    def _children(self) -> dict[str | None, list[Node]]:
        out: dict[str | None, list[Node]] = {}
        for node in sorted(self.nodes, key=lambda node: (node.span, node.node_id)):
            out.setdefault(node.parent, []).append(node)
        return out

    @property
    def root(self) -> Node:
        return self._children[None][0]

    def children(self, node_id: str) -> list[Node]:
        """Children in order of time."""
        return self._children.get(node_id, [])

    @cached_property
    def _leaves(self) -> list[Node]:
        leaves = (node for node in self.nodes if node.node_id not in self._children)
        return sorted(leaves, key=lambda node: (node.span, node.node_id))

    def leaves(self, span: tuple[float, float] | None = None) -> list[Node]:
        """Nodes without children in order of time; with `span` (seconds) those that overlap it."""
        return [node for node in self._leaves if span is None or node.overlaps(span)]

    @cached_property
    def _captions(self) -> TextIndex:
        return TextIndex([node.caption for node in self.leaves()])

    def search(self, query: str, most: int) -> list[Node]:
        """At most `most` leaves whose captions have a word of `query`, best first by BM25."""
        leaves = self.leaves()
        return [leaves[place] for place in self._captions.best(query, most)]

    def frames_below(self, node_id: str) -> list[str]:
        """Frame files of a node and of all below it, in order of time."""
        found: list[str] = []
        todo = [self.by_id[node_id]]
        while todo:
            node = todo.pop()
            found += node.frames
            todo += reversed(self.children(node.node_id))
        return found


def evenly(frames: Sequence[str], most: int) -> tuple[str, ...]:
    """At most so many of the frames, evenly chosen."""
    count = min(most, len(frames))
    return tuple(frames[k * len(frames) // count] for k in range(count))


def data_url(path: Path) -> str:
    """A picture file as a data URL, as OpenAI's image parts take it; its bytes say what kind it is."""
    data = path.read_bytes()
    return f"data:{media_type(data)};base64,{base64.b64encode(data).decode()}"


class Forest:
    """Trees of a folder, `<video_id>.json` each, read and checked once when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trees: dict[str, VideoTree] = {}
        self._digests: dict[str, str] = {}

    def tree(self, video_id: str) -> VideoTree:
        """The tree of a video; DataError when there is none, or when it is not sound."""
        if video_id not in self._trees:
            check_video_id(video_id)
            path = self.folder / f"{video_id}.json"
            if not path.is_file():
                raise DataError(f"{path}: no tree of video {video_id}", "check data.videos")
            tree = load_tree(path)
            if tree.video_id != video_id:
                raise DataError(f"{path}: holds video {tree.video_id!r}", "name the file <video_id>.json")
            self._trees[video_id] = tree
        return self._trees[video_id]

    def digest(self, video_id: str) -> str:
        """Digest of a tree and of the bytes of its frames."""
        if video_id not in self._digests:
            tree = self.tree(video_id)
            names = sorted({frame for node in tree.nodes for frame in node.frames})
            frames = {name: sha256((self.folder / name).read_bytes()) for name in names}
            self._digests[video_id] = digest({"tree": tree, "frames": frames})
        return self._digests[video_id]


def check_video_id(video_id: str) -> None:
    """Raise DataError for an id that cannot name a file, or that names one outside of the folder."""
    if not VIDEO_ID.fullmatch(video_id):
        raise DataError(f"video_id {video_id!r} cannot name a file", "use letters, digits, . _ and -")


def load_tree(path: Path) -> VideoTree:
    """Read one tree; a DataError lists every problem with its node."""
    value = read_given(path)
    try:
        tree = VideoTree.model_validate(value)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, e['loc'])) or 'the file'}: {e['msg']}"
            for e in error.errors(include_input=False)
        ]
    else:
        problems = list(tree_problems(tree, path.parent))
        if not problems:
            return tree
    shown = [f"{path}: {problem}" for problem in problems[:MOST_SHOWN]]
    if len(problems) > MOST_SHOWN:
        shown.append(f"and {len(problems) - MOST_SHOWN} more")
    raise DataError("\n".join(shown), "correct these nodes and run again")


def tree_problems(tree: VideoTree, folder: Path) -> Iterator[str]:
    """What is wrong with a tree, one text per problem; `folder`: where its frame files are."""
    counts = Counter(node.node_id for node in tree.nodes)
    yield from (f"node {name}: the id is used {n} times" for name, n in counts.items() if n > 1)
    roots = [node.node_id for node in tree.nodes if node.parent is None]
    if len(roots) != 1:
        yield f"needs one node without a parent, has {len(roots)}: {', '.join(roots[:5]) or 'none'}"
    for node in tree.nodes:
        yield from (f"node {node.node_id}: {problem}" for problem in _node_problems(node, tree, folder))
    yield from _circles(tree.by_id)


def _node_problems(node: Node, tree: VideoTree, folder: Path) -> Iterator[str]:
    start, end = node.span
    if not 0 <= start < end:
        yield f"span {_seconds(node)} must begin at 0 or later and end after it begins"
    elif end > tree.duration + SLACK:
        yield f"span {_seconds(node)} is outside of the video of {tree.duration:g} s"
    if node.parent is not None:
        parent = tree.by_id.get(node.parent)
        if parent is None:
            yield f"there is no parent {node.parent}"
        elif start < parent.span[0] - SLACK or end > parent.span[1] + SLACK:
            yield f"span {_seconds(node)} is outside of its parent {node.parent}, {_seconds(parent)}"
    if len(node.caption) > LONGEST_CAPTION:
        yield f"caption has {len(node.caption)} characters, at most {LONGEST_CAPTION}: use smaller windows"
    yield from (f"frame {frame} {problem}" for frame in node.frames for problem in _picture(frame, folder))


def _picture(frame: str, folder: Path) -> Iterator[str]:
    path = folder / frame
    if PurePosixPath(frame).is_absolute() or ".." in PurePosixPath(frame).parts:
        yield f"must be a path inside of {folder}"
    elif not path.is_file():
        yield f"is not there: no file {path}"
    elif path.stat().st_size > LARGEST_FRAME:
        yield f"has {path.stat().st_size} bytes, at most {LARGEST_FRAME}: make it smaller"
    else:
        with path.open("rb") as file:
            if media_type(file.read(16)) is None:
                yield "is no PNG, JPEG, GIF or WebP picture"


def media_type(data: bytes) -> str | None:
    """What kind of picture begins with these bytes; None for another file."""
    return next((kind for kind, head in KINDS.items() if head.match(data)), None)


def _circles(nodes: Mapping[str, Node]) -> Iterator[str]:
    safe: set[str | None] = {None}
    for name in nodes:
        way: dict[str, None] = {}  # in order, and quick to look into where a tree is deep
        here: str | None = name
        while here is not None and here in nodes and here not in safe and here not in way:
            way[here] = None
            here = nodes[here].parent
        if here in way:
            circle = list(way)[list(way).index(here) :]
            shown = circle if len(circle) <= MOST_SHOWN else [*circle[:MOST_SHOWN], "…"]
            yield f"node {here}: its parents form a circle: {' → '.join([*shown, here])}"
        safe.update(way)


def _seconds(node: Node) -> str:
    return f"{node.span[0]:g}-{node.span[1]:g} s"
