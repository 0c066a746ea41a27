"""A vision student without a model: it names the colour that most pixels of each picture are nearest to."""

import base64
import binascii
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from typing import Any

TOKENS = 85  # of a picture; what OpenAI counts for one of low detail
SIDE = 64  # pixels of the grid that is looked at
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
COLOURS = {
    "black": (0, 0, 0),
    "grey": (128, 128, 128),
    "white": (255, 255, 255),
    "red": (210, 30, 30),
    "orange": (240, 140, 20),
    "brown": (130, 70, 20),
    "yellow": (240, 220, 40),
    "green": (40, 150, 60),
    "blue": (40, 80, 200),
    "purple": (130, 50, 160),
    "pink": (240, 140, 180),
}


class BadPicture(ValueError):  # noqa: N818 - what the picture is
    """A picture that cannot be looked at; the text says which and why."""


def described(urls: Sequence[str]) -> str:
    """One sentence per picture, as `Picture 2 is mostly red.`; BadPicture for the first that is none."""
    seen = [f"Picture {number} is mostly {_seen(number, url)}." for number, url in enumerate(urls, 1)]
    return " ".join(seen)


def main_colour(data: bytes) -> str:
    """The name of COLOURS that most pixels are nearest to (in RGB), the alphabetically first of equals.

    Raises BadPicture for what is no whole PNG, JPEG, GIF or WebP picture.
    """
    try:
        from PIL import Image
    except ImportError:
        raise BadPicture("Pillow is not installed: pip install 'skillmake[video]'") from None
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            small = picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.NEAREST)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadPicture(str(error).split(" <")[0] or type(error).__name__) from None
    counts: Counter[str] = Counter()
    for count, pixel in small.getcolors(SIDE * SIDE) or []:
        counts[_nearest(pixel)] += count
    return min(counts, key=lambda name: (-counts[name], name))


def _nearest(pixel: Any) -> str:
    return min(COLOURS, key=lambda name: sum((a - b) ** 2 for a, b in zip(pixel, COLOURS[name], strict=True)))


def _seen(number: int, url: str) -> str:
    head, comma, data = url.partition(",")
    try:
        if not (comma and head.startswith("data:image/") and head.endswith(";base64")):
            raise BadPicture("needs a data URL, `data:image/…;base64,…`")
        return main_colour(base64.b64decode(data, validate=True))
    except (BadPicture, binascii.Error) as error:
        raise BadPicture(f"picture {number}: {error}") from None
