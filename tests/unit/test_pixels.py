"""The vision model of the rehearsal world: colours by hand, and pictures that are none."""

import asyncio
import base64
from io import BytesIO

import pytest
from PIL import Image

from skillmake.llm.types import CallFailure, ChatRequest
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.pixels import COLOURS, TOKENS, BadPicture, described, main_colour
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.world import World

WORLD = World(WorldConfig(types=1, units_per_type=12))


def picture(*parts: tuple[tuple[int, int, int], int], kind: str = "PNG", size: int = 10) -> bytes:
    """`parts`: colours and how many of the ten columns each has."""
    image, left = Image.new("RGB", (size, size)), 0
    for colour, columns in parts:
        image.paste(colour, (left * size // 10, 0, (left + columns) * size // 10, size))
        left += columns
    buffer = BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def url(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


RED, BLUE = (200, 40, 20), (30, 60, 220)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ([(RED, 6), (BLUE, 4)], "red"),
        ([(RED, 4), (BLUE, 6)], "blue"),
        ([(RED, 5), (BLUE, 5)], "blue"),
        # Two reds together are more than the blue that is the most frequent single colour
        ([(RED, 3), ((230, 20, 50), 3), (BLUE, 4)], "red"),
        ([((90, 90, 90), 10)], "grey"),
        ([((20, 20, 20), 10)], "black"),
        ([((250, 250, 245), 10)], "white"),
    ],
)
def test_the_colour_that_most_pixels_have(parts: list[tuple[tuple[int, int, int], int]], name: str) -> None:
    assert main_colour(picture(*parts)) == name
    assert main_colour(picture(*parts, size=640)) == name


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_every_kind_of_picture_and_every_colour(kind: str) -> None:
    for name, colour in COLOURS.items():
        assert main_colour(picture((colour, 10), kind=kind)) == name


def ask(*urls: str) -> ChatRequest:
    content = [
        {"type": "text", "text": "What colour is it?"},
        *({"type": "image_url", "image_url": {"url": each}} for each in urls),
    ]
    return ChatRequest(messages=({"role": "user", "content": content},))


@pytest.mark.parametrize("role", ["vision", "student"])
def test_pictures_are_told_in_their_order_and_counted(role: str) -> None:
    provider = RehearsalProvider(WORLD, role)  # type: ignore[arg-type]
    answer = provider.reply(ask(url(picture((BLUE, 10))), url(picture((RED, 10)))))
    assert answer.text == "Picture 1 is mostly blue. Picture 2 is mostly red."
    assert answer.prompt_tokens == 5 + 2 * TOKENS


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (url(b"no picture"), "cannot identify image file"),
        (url(picture((RED, 10), size=200)[:-40]), "image file is truncated"),
        (url(b""), "cannot identify image file"),
        ("data:image/png;base64,%%%", "Only base64 data is allowed"),
        ("data:image/png;base64,QQ", "Incorrect padding"),
        ("https://example.org/a.png", "needs a data URL"),
        ("data:text/plain;base64,QQ==", "needs a data URL"),
        ("", "needs a data URL"),
    ],
)
def test_a_picture_that_is_none_is_named(bad: str, problem: str) -> None:
    with pytest.raises(BadPicture, match=f"^picture 2: .*{problem}"):
        described([url(picture((RED, 10))), bad])
    with pytest.raises(CallFailure, match=r"^HTTP 400: picture 1: ") as caught:
        asyncio.run(RehearsalProvider(WORLD, "vision").complete(ask(bad)))
    assert not caught.value.retryable
    assert not caught.value.fatal


def test_the_pictures_of_a_request_are_its_image_parts() -> None:
    parts = [{"type": "image_url"}, {"type": "image_url", "image_url": "x"}, {"type": "text", "text": "t"}]
    odd = ChatRequest(messages=({"role": "user", "content": parts}, {"role": "user", "content": None}))
    assert odd.pictures == ("", "")
    assert ChatRequest(messages=({"role": "user", "content": "image_url"},)).pictures == ()
    assert ask("a", "b").pictures == ("a", "b")
