"""Captions of windows, written by the vision model from their pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillmake.agent.vision import Vision
from skillmake.errors import EndpointError
from skillmake.llm.types import CallError, ChatRequest
from skillmake.tree import MOST_FRAMES, data_url, evenly
from skillmake.windows import Window


@dataclass(frozen=True)
class Captioned:
    """The windows with their captions, and how many of these were cut off by models.vision.max_tokens."""

    windows: tuple[Window, ...]
    cut: int = 0


def caption_windows(vision: Vision, prompt: str, folder: Path, windows: Sequence[Window]) -> Captioned:
    """Ask about the pictures of each window, evenly chosen; a window without pictures stays as it is.

    `folder`: where the picture files are. Raises EndpointError when a caption could not be had.
    """
    seen = [window for window in windows if window.frames]
    replies = vision.ask([_request(prompt, folder, window) for window in seen])
    failed = [reply.outcome.reason for reply in replies if isinstance(reply.outcome, CallError)]
    if failed:
        raise EndpointError(
            f"{len(failed)} of {len(seen)} captions could not be had: {failed[0]}",
            "those that were are kept: repair the endpoint and run the same command again",
        )
    responses = [reply.response for reply in replies if reply.response]
    texts = dict(zip(seen, (response.text.strip() for response in responses), strict=True))
    captioned = tuple(replace(window, caption=texts.get(window, window.caption)) for window in windows)
    return Captioned(captioned, sum(response.finish == "length" for response in responses))


def _request(prompt: str, folder: Path, window: Window) -> ChatRequest:
    chosen = evenly(window.frames, MOST_FRAMES)
    images = [{"type": "image_url", "image_url": {"url": data_url(folder / name)}} for name in chosen]
    content = [{"type": "text", "text": f"{len(chosen)} frames, in order of time:"}, *images]
    return ChatRequest(
        messages=({"role": "system", "content": prompt.strip()}, {"role": "user", "content": content})
    )
