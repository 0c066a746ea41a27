"""Video files: pictures of them at a rate, saved as JPEG files, and how long they last (PyAV, Pillow)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from math import ceil, isfinite
from pathlib import Path
from typing import Any

from skillmake.errors import ConfigError, DataError

QUALITY = 85  # of a JPEG file
LARGEST_PARTS = 1000  # denominator of a rate: a frame in 16 minutes, or 23.976 in a second
UNREAD_SHARE = Fraction(1, 20)  # of the length a file names, from which its pictures end too early
USUAL_RATE = 25  # pictures in a second, where a file does not say
MICROSECONDS = 10**6


@dataclass
class Film:
    """What was read of a file: its length in seconds, and the second of each picture by its file name."""

    duration: float = 0.0
    frames: dict[str, float] = field(default_factory=dict)


def read_film(path: Path, fps: float, side: int, save: Callable[[str, bytes], None]) -> Film:
    """Save the pictures shown at 0, 1/fps, 2/fps, … seconds, each once; `save` gets file name and bytes.

    Pictures are scaled down until no side is longer than `side` pixels, and turned as the file says. The
    bytes follow from the file and the versions of PyAV and Pillow alone. Raises DataError for what is no
    whole video, ConfigError for a rate of no pictures and where PyAV is not installed.
    """
    rate = Fraction(fps).limit_denominator(LARGEST_PARTS) if isfinite(fps) else Fraction(0)
    if rate <= 0 or side < 1:
        raise ConfigError(f"fps {fps:g}, side {side}: need fps of 0.001 or more and a side of 1 or more")
    film, number = Film(), 0
    for second, until, picture in _shown(path):
        film.duration = max(film.duration, float(until))
        first, number = max(number, ceil(second * rate)), max(number, ceil(until * rate))
        if first < number:
            due = float(first / rate)
            name = f"f{round(due * 1000):09d}.jpg"
            film.frames[name] = due
            save(name, _jpeg(picture, side))
    return film


def _shown(path: Path) -> Iterator[tuple[Fraction, Fraction, Any]]:
    """Every picture of the file with the seconds from which and until which it is shown."""
    try:
        import av
    except ImportError:
        raise ConfigError("PyAV is not installed", "pip install 'skillmake[video]'") from None
    last: tuple[Fraction, Any] | None = None
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise DataError(f"{path}: no pictures in it", "give a video file")
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            begin: Fraction | None = None
            for frame in container.decode(stream):
                if frame.pts is None or frame.time_base is None:
                    raise DataError(f"{path}: a picture without its time", "convert the file, as to MP4")
                moment = frame.pts * frame.time_base
                begin = moment if begin is None else begin
                second = moment - begin
                if last is not None and second > last[0]:
                    yield last[0], second, last[1]
                last = second, frame
            if last is None:
                raise DataError(f"{path}: no pictures in it", "give a video file")
            end = last[0] + _length(stream, last[1])
            _check_whole(path, container, stream, end)
            yield last[0], end, last[1]
    except av.error.FFmpegError as error:
        read = f" after {float(last[0]):g} s" if last else ""
        raise DataError(f"{path}: cannot be read as a video{read}: {error.strerror}") from None


def _length(stream: Any, frame: Any) -> Fraction:
    """Seconds that a picture without a next one is shown."""
    if frame.duration:
        return Fraction(frame.duration * frame.time_base)
    return 1 / Fraction(stream.average_rate or USUAL_RATE)


def _check_whole(path: Path, container: Any, stream: Any, end: Fraction) -> None:
    """Raise DataError when the file says that it lasts much longer than its pictures, which end at `end`."""
    if stream.duration:
        named = stream.duration * stream.time_base
    else:
        named = Fraction(container.duration or 0, MICROSECONDS)
    if end < (1 - UNREAD_SHARE) * named:
        raise DataError(
            f"{path}: its pictures end at {float(end):.2f} s of {float(named):.2f} s",
            "is the file whole? If it is, convert it, as to MP4",
        )


def _jpeg(frame: Any, side: int) -> bytes:
    from PIL import Image

    picture = frame.to_image()
    if frame.rotation:
        picture = picture.rotate(frame.rotation, expand=True)
    picture.thumbnail((side, side), Image.Resampling.BICUBIC)
    buffer = BytesIO()
    picture.save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()
