"""Windows of a video become its tree: leaves, and above them nodes that sum up their children."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from pydantic import Field, model_validator

from skillmake.artifacts import Artifact
from skillmake.errors import DataError
from skillmake.tree import LONGEST_CAPTION, MOST_SHOWN, SLACK, Node, VideoTree, tree_problems

MOST_WINDOWS = 100_000  # ten hours in windows of less than half a second
Span = tuple[float, float]


class Caption(Artifact):
    """What is seen or said from `start` to `end`, in seconds."""

    start: float = Field(ge=0, allow_inf_nan=False)
    end: float = Field(allow_inf_nan=False)
    text: str

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> "Caption":
        if self.end < self.start:
            raise ValueError(f"ends at {self.end:g} s, before it begins at {self.start:g} s")
        return self


@dataclass(frozen=True)
class Window:
    """A leaf to be: its seconds, its caption, its pictures in order of time."""

    span: Span
    caption: str = ""
    frames: tuple[str, ...] = ()


def tree_from_captions(
    video_id: str, captions: Sequence[Caption], window_s: float, fanout: int, duration: float | None = None
) -> VideoTree:
    """Leaves are windows of `window_s` seconds with the captions that begin in them; see `tree_of`.

    `duration`: seconds of the video, None: the end of the last caption. Raises DataError without captions,
    and for a video that does not last.
    """
    if not captions:
        raise DataError(f"video {video_id}: no captions", "give at least one")
    length = duration if duration is not None else max(caption.end for caption in captions)
    if length <= 0:
        raise DataError(
            f"video {video_id}: lasts {length:g} s, by its captions", "give their times in seconds"
        )
    try:
        windows = windows_of(length, window_s, captions)
    except DataError as error:
        raise DataError(f"video {video_id}: {error.message}", error.hint) from None
    return tree_of(video_id, windows, fanout)


def windows_of(
    length: float,
    window_s: float,
    captions: Sequence[Caption] = (),
    frames: Mapping[str, float] | None = None,
) -> list[Window]:
    """Windows of `window_s` seconds over `length`, the last one shorter; each has what begins in it.

    `frames`: second of each picture file. Raises DataError for windows without length or too many.
    """
    if not 0 < window_s < inf:
        raise DataError(f"window_s {window_s:g}: need window_s > 0 and finite")
    count = max(1, int(-(-(length - SLACK) // window_s)))
    if count > MOST_WINDOWS:
        raise DataError(
            f"{length:g} s in windows of {window_s:g} s are {count}, at most {MOST_WINDOWS}",
            "use larger windows; or are the times not seconds?",
        )
    texts: list[list[str]] = [[] for _ in range(count)]
    for caption in sorted(captions, key=lambda caption: (caption.start, caption.end)):
        texts[min(int(caption.start // window_s), count - 1)].append(caption.text.strip())
    files: list[list[str]] = [[] for _ in range(count)]
    for name, second in sorted((frames or {}).items(), key=lambda item: (item[1], item[0])):
        files[min(int((second + SLACK) // window_s), count - 1)].append(name)
    # Neighbouring seconds are often described in the same words
    return [
        Window((k * window_s, min((k + 1) * window_s, length)), "\n".join(dict.fromkeys(text)), tuple(names))
        for k, (text, names) in enumerate(zip(texts, files, strict=True))
    ]


def tree_of(video_id: str, windows: Sequence[Window], fanout: int, folder: Path = Path()) -> VideoTree:
    """The tree over windows that follow each other from 0 on.

    Each node above the leaves holds up to `fanout` children and the first sentences of their captions. A
    node's id is its path from the root: `0`, `0.2`, `0.2.1`. `folder`: where the picture files are. Raises
    DataError for a fanout that makes no tree, and when the tree is not sound.
    """
    if fanout < 2:
        raise DataError(f"fanout {fanout}: need a fanout of 2 or more")
    level = [_Part(window.span, window.caption, window.frames) for window in windows]
    while len(level) > 1:
        groups = [level[i : i + fanout] for i in range(0, len(level), fanout)]
        level = [_Part((g[0].span[0], g[-1].span[1]), _summary(g), (), g) for g in groups]
    tree = VideoTree(
        video_id=video_id, duration=windows[-1].span[1], nodes=tuple(_named(level[0], "0", None))
    )
    if problems := list(tree_problems(tree, folder)):
        raise DataError("\n".join(f"video {video_id}: {problem}" for problem in problems[:MOST_SHOWN]))
    return tree


@dataclass(frozen=True)
class _Part:
    span: Span
    caption: str
    frames: tuple[str, ...] = ()
    children: "Sequence[_Part]" = ()


def _summary(parts: Sequence[_Part]) -> str:
    told = [part for part in parts if part.caption]
    lines = (f"{part.span[0]:g}-{part.span[1]:g} s: {_first_sentence(part.caption)}" for part in told)
    return "\n".join(lines)[:LONGEST_CAPTION]


def _first_sentence(text: str) -> str:
    # A summary of summaries begins with times of its own
    plain = re.sub(r"^(?:[\d.]+-[\d.]+ s: )+", "", text)
    return re.split(r"(?<=[.!?])\s|\n", plain, maxsplit=1)[0]


def _named(part: _Part, name: str, parent: str | None) -> Iterator[Node]:
    yield Node(node_id=name, parent=parent, span=part.span, caption=part.caption, frames=part.frames)
    for k, child in enumerate(part.children):
        yield from _named(child, f"{name}.{k}", name)
