"""Import of captioned videos: timed captions → trees, clip pairs → twin questions with their scope."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from skillmake.artifacts import Artifact
from skillmake.errors import DataError
from skillmake.given import read_given
from skillmake.questions import Question, check_questions
from skillmake.tree import VideoTree, check_video_id
from skillmake.windows import Caption, tree_from_captions

CLIP = re.compile(r"(?P<folder>\d+)_(?P<video>.+)_(?P<start>\d+)_(?P<end>\d+)\.mp4")
YES_NO = ("yes", "no")


class ClipQuestion(Artifact):
    """A yes/no question about a clip, `<folder>_<video id>_<first frame>_<last frame>.mp4`."""

    video: str
    question: str
    answer: str


class ClipPair(Artifact):
    """Two questions about one clip, one about what is not there (VideoHallucer)."""

    basic: ClipQuestion
    hallucination: ClipQuestion
    kind: str = Field(alias="type")


def read_captions(path: Path) -> dict[str, list[Caption]]:
    """Captions by video: `{video: {second: text}}`, or `{video: [{start, end, text}]}` in seconds."""
    value = read_given(path)
    if not isinstance(value, dict) or not value:
        raise DataError(f"{path}: expected an object of captions by video id")
    return {video: _captions(path, video, part) for video, part in sorted(value.items())}


def _captions(path: Path, video: str, part: Any) -> list[Caption]:
    try:
        if isinstance(part, dict):
            return [
                Caption(start=second, end=second + 1, text=text)
                for second, text in sorted((int(second), text) for second, text in part.items())
            ]
        return TypeAdapter(list[Caption]).validate_python(part)
    except ValidationError as error:
        raise DataError(f"{path}: video {video}: {_first(error)}") from None
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: video {video}: not captions by second: {error}") from None


def make_trees(captions: Mapping[str, list[Caption]], window_s: float, fanout: int) -> dict[str, VideoTree]:
    """One tree per video, see `tree_from_captions`; DataError for an id that cannot name its file."""
    for video in captions:
        check_video_id(video)
    return {video: tree_from_captions(video, rows, window_s, fanout) for video, rows in captions.items()}


def read_clip_pairs(path: Path) -> list[ClipPair]:
    """Pairs of a VideoHallucer file; DataError names the first that is none."""
    try:
        return TypeAdapter(list[ClipPair]).validate_python(read_given(path))
    except ValidationError as error:
        raise DataError(f"{path}: pair {_first(error)}") from None


def _first(error: ValidationError) -> str:
    """The first problem with its place; a document that is wrong as a whole has none."""
    first = error.errors()[0]
    return ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)


def clip_questions(
    pairs: Iterable[ClipPair], trees: Mapping[str, VideoTree], frames: Mapping[str, int]
) -> list[Question]:
    """Twin questions of clip pairs; the clip's span in seconds is their scope.

    `frames`: frames of each video, which last as long as its tree: second = frame · duration / frames.
    """
    out: list[Question] = []
    for number, pair in enumerate(pairs):
        scope = _scope(number, pair, trees, frames)
        video = _clip(number, pair)["video"]
        unit_id = f"{video}-clip{number:03d}"
        for suffix, asked in (("a", pair.basic), ("b", pair.hallucination)):
            value = {
                "question_id": f"{unit_id}-{suffix}",
                "unit_id": unit_id,
                "task_type": f"twin {pair.kind}",
                "question": asked.question,
                "options": YES_NO,
                "answer": asked.answer,
                "video_id": video,
                "scope": {"span": scope},
                "meta": {"clip": asked.video},
            }
            try:
                out.append(Question.model_validate(value))
            except ValidationError as error:
                raise DataError(f"pair {number}: {error.errors()[0]['msg']}") from None
    return out


def _clip(number: int, pair: ClipPair) -> re.Match[str]:
    names = {pair.basic.video, pair.hallucination.video}
    found = CLIP.fullmatch(pair.basic.video)
    if len(names) > 1 or found is None:
        raise DataError(
            f"pair {number}: clips {', '.join(sorted(names))}",
            "both questions need the same clip, <folder>_<video>_<first frame>_<last frame>.mp4",
        )
    return found


def _scope(
    number: int, pair: ClipPair, trees: Mapping[str, VideoTree], frames: Mapping[str, int]
) -> list[float]:
    clip = _clip(number, pair)
    video, start, end = clip["video"], int(clip["start"]), int(clip["end"])
    if video not in trees or video not in frames:
        missing = "captions" if video not in trees else "frame_count"
        raise DataError(f"pair {number}: video {video} has no {missing}", "give the files of one data set")
    if not start < end <= frames[video]:
        raise DataError(f"pair {number}: frames {start}-{end} are not within the {frames[video]} of {video}")
    seconds = trees[video].duration / frames[video]
    return [round(start * seconds, 3), round(end * seconds, 3)]


def frame_counts(questions: Iterable[Question]) -> dict[str, int]:
    """Frames of each video, from `meta.frame_count` of its questions."""
    out: dict[str, int] = {}
    for question in questions:
        count = question.meta.get("frame_count")
        if question.video_id is not None and count is not None:
            try:
                out[question.video_id] = int(str(count))
            except ValueError:
                raise DataError(f"question {question.question_id}: frame_count {count!r}") from None
    return out


def joined(*parts: Iterable[Question]) -> list[Question]:
    """All questions, sorted by id and checked together."""
    rows = [(f"question {q.question_id}", q) for part in parts for q in part]
    return check_questions(rows, [], [], "import-tree")
