"""A tree from a video file: windows with frames, and captions where there are any."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillmake.artifacts import canonical, write_text
from skillmake.captioning import Captioned
from skillmake.errors import DataError, storing
from skillmake.film import read_film
from skillmake.tree import VIDEO_ID, VideoTree
from skillmake.windows import Caption, Window, tree_of, windows_of

OWN_FRAME = re.compile(r"f\d{9,}\.jpg")
Writer = Callable[[Sequence[Window]], Captioned]


@dataclass(frozen=True)
class Sizes:
    """Seconds of a window, most children of a node, frames per second, pixels of a frame's longer side."""

    window_s: float
    fanout: int
    fps: float
    side: int


@dataclass(frozen=True)
class Built:
    """A tree that was written, and how many of its captions were cut off."""

    tree: VideoTree
    cut: int = 0

    @property
    def summary(self) -> str:
        """One line for the terminal."""
        tree, leaves = self.tree, self.tree.leaves()
        frames, told = sum(len(node.frames) for node in leaves), sum(bool(node.caption) for node in leaves)
        counts = f"{len(leaves)} windows, {frames} frames, {told} captions"
        cut = f"; {self.cut} captions were cut off: raise models.vision.max_tokens" if self.cut else ""
        return f"{tree.video_id}: {tree.duration:g} s, {counts}{cut}"


def video_ids(paths: Sequence[Path]) -> dict[str, Path]:
    """Video files by id, which is the name without its ending; DataError for a name that cannot be one."""
    out: dict[str, Path] = {}
    for path in paths:
        if not VIDEO_ID.fullmatch(path.stem):
            raise DataError(f"{path}: the name cannot be a video_id", "use letters, digits, . _ and -")
        if path.stem in out:
            raise DataError(f"{path}: {out[path.stem]} has the same name", "rename one of the two")
        out[path.stem] = path
    return out


def build(
    path: Path,
    video_id: str,
    out: Path,
    sizes: Sizes,
    captions: Sequence[Caption] = (),
    writer: Writer | None = None,
) -> Built:
    """Write `out/<video_id>.json` and its frames in `out/<video_id>/`, where those of an earlier build go.

    `captions`: known ones; `writer`: gives windows their captions, else. Raises DataError when the file is no
    whole video or a caption lies behind its end.
    """
    folder = out / video_id
    film = read_film(path, sizes.fps, sizes.side, lambda name, data: _save(folder / name, data))
    for old in folder.iterdir():
        if OWN_FRAME.fullmatch(old.name) and old.name not in film.frames:
            old.unlink()
    late = max((caption.start for caption in captions), default=0.0)
    if late >= film.duration:
        raise DataError(
            f"{path}: a caption begins at {late:g} s, the video ends at {film.duration:g} s",
            "give the captions of this video",
        )
    frames = {f"{video_id}/{name}": second for name, second in film.frames.items()}
    windows = windows_of(film.duration, sizes.window_s, captions, frames)
    captioned = writer(windows) if writer else Captioned(tuple(windows))
    tree = tree_of(video_id, captioned.windows, sizes.fanout, out)
    write_text(out / f"{video_id}.json", canonical(tree))
    return Built(tree, captioned.cut)


def _save(path: Path, data: bytes) -> None:
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
