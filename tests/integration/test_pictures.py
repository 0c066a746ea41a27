"""A real clip becomes a tree with frames, a vision model looks at them over HTTP, and the answer follows."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml
from PIL import Image, ImageStat

from benchmarks.in_process import Run, checkout
from skillmake.agent.factory import open_student
from skillmake.agent.loop import Prediction
from skillmake.agent.vision import Vision
from skillmake.artifacts import read_json
from skillmake.build_tree import Sizes, build
from skillmake.captioning import caption_windows
from skillmake.config.load import overlay, parse_config
from skillmake.config.models import Config
from skillmake.errors import EndpointError
from skillmake.llm.factory import make_client
from skillmake.questions import Question, dump_questions
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import WorldConfig
from skillmake.texts import Texts, Version
from skillmake.windows import Window
from tests.clips import make_clip, real_clip
from tests.integration.conftest import ROOT, Project
from tests.scripted import SKILL

OPTIONS = ["blue", "brown", "grey"]


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten real seconds, each a window with a frame."""
    folder = tmp_path_factory.mktemp("videos")
    build(real_clip("bikes"), "bikes", folder, Sizes(window_s=1, fanout=10, fps=1, side=320))
    return folder


@pytest.fixture
def url() -> Iterator[str]:
    with serve(ServerConfig(world=WorldConfig(types=1, units_per_type=12))) as (address, _):
        yield address


def config(url: str, videos: Path, **limits: Any) -> Config:
    models = {
        role: {"provider": "openai", "model": f"rehearsal-{role}", "base_url": f"{url}/v1", "max_tokens": 200}
        for role in ("student", "vision")
    }
    agent = {"environment": "tree", "options_in": "question"}
    value = {"models": models, "agent": agent, "data": {"videos": str(videos)}, "limits": limits}
    return parse_config(value)


def ask(root: Path, config: Config, *spans: tuple[float, float]) -> list[Prediction]:
    prompts = {"system.md": "Answer."}
    for kind in ("extract", "verify"):
        name = f"tools/view_frames/{kind}.md"
        prompts[name] = (ROOT / "data/tree/prompts" / name).read_text()
    texts = Texts(
        skills=Version.of({"default-strategy/SKILL.md": SKILL}, None, "seed"),
        prompts=Version.of(prompts, None, "seed"),
    )
    questions = [
        Question.model_validate(
            {
                "question_id": f"q{number}",
                "task_type": "colour",
                "question": "What is the main colour?",
                "options": OPTIONS,
                "answer": "brown",
                "video_id": "bikes",
                "scope": {"span": list(span)},
            }
        )
        for number, span in enumerate(spans)
    ]
    places = {"cache_dir": root / "cache", "log_dir": root / "log", "log_name": "job"}
    with open_student(config, **places) as agent:  # type: ignore[arg-type]
        return agent.run(questions, texts)


def calls(root: Path, role: str) -> list[dict[str, Any]]:
    lines = (root / "log/calls/job.jsonl").read_text().splitlines()
    return [call for call in map(json.loads, lines) if call["role"] == role]


def faults(url: str, *rows: dict[str, Any]) -> None:
    request = Request(f"{url}/faults", json.dumps(rows).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def test_the_answer_follows_from_real_pixels(url: str, videos: Path, tmp_path: Path) -> None:
    # What is known of the clip without a model: it is much darker after five seconds than at its beginning
    light, dark = (
        ImageStat.Stat(Image.open(videos / f"bikes/f00000{second}000.jpg").convert("L")).mean[0]
        for second in (0, 5)
    )
    assert light > 120 > 80 > dark
    rows = ask(tmp_path, config(url, videos), (0, 1), (5, 6))
    for row, node, colour in zip(rows, ("0.0", "0.5"), ("grey", "brown"), strict=True):
        search, walk, look = row.steps
        assert (search.tool, walk.tool, walk.arguments) == (
            "search_captions",
            "list_children",
            {"node_id": "0"},
        )
        assert (look.tool, look.arguments, look.nodes) == ("view_frames", {"node_id": node}, row.evidence)
        assert look.result == f"Picture 1 is mostly {colour}.\n\nCheck: {look.verdict}"
        assert row.prediction == colour
    assert [row.right for row in rows] == [False, True]


def test_other_pixels_another_answer_and_the_same_ones_are_paid_once(
    url: str, videos: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    (copy / "bikes").mkdir(parents=True)
    for file in videos.rglob("*.*"):
        (copy / file.relative_to(videos)).write_bytes(file.read_bytes())
    (first,) = ask(tmp_path, config(url, videos), (5, 6))
    (again,) = ask(tmp_path, config(url, copy), (5, 6))
    assert (first.prediction, first.calls) == ("brown", again.calls)
    assert [call["cached"] for call in calls(tmp_path, "vision")] == [False, True]
    Image.new("RGB", (320, 136), (20, 40, 200)).save(copy / "bikes/f000005000.jpg")
    (other,) = ask(tmp_path, config(url, copy), (5, 6))
    assert (other.prediction, other.run == first.run) == ("blue", False)
    last = calls(tmp_path, "vision")[-1]
    assert (last["cached"], last["prompt_tokens"] > 85) == (False, True)


def test_a_picture_that_ends_too_soon_is_an_error_that_says_so(
    url: str, videos: Path, tmp_path: Path
) -> None:
    (tmp_path / "bikes").mkdir()
    for file in videos.rglob("*.*"):
        (tmp_path / file.relative_to(videos)).write_bytes(file.read_bytes())
    whole = (tmp_path / "bikes/f000005000.jpg").read_bytes()
    (tmp_path / "bikes/f000005000.jpg").write_bytes(whole[: len(whole) // 2])
    broken, sound = ask(tmp_path / "run", config(url, tmp_path), (5, 6), (0, 1))
    assert (broken.stop_reason, broken.right, sound.prediction) == ("error", None, "grey")
    assert broken.error.startswith("HTTP 400: picture 1: image file is truncated")
    assert broken.error.endswith('(pictures of view_frames {"node_id": "0.5"})')
    assert calls(tmp_path / "run", "vision")[0]["tries"] == 1


def test_a_vision_model_that_is_busy_is_asked_again(url: str, videos: Path, tmp_path: Path) -> None:
    faults(url, {"kind": "429", "count": 1, "retry_after": 0, "role": "vision"})
    (row,) = ask(tmp_path, config(url, videos), (5, 6))
    assert row.prediction == "brown"
    assert [call["tries"] for call in calls(tmp_path, "vision")] == [2]


def test_captions_that_cannot_be_had(url: str, videos: Path, tmp_path: Path) -> None:
    faults(url, {"kind": "500", "count": 1, "role": "vision"})
    settings = config(url, videos, retries=0, slots=1)
    client = make_client(settings, "vision", cache_dir=tmp_path / "c", log_dir=tmp_path, log_name="job")
    assert settings.models.vision is not None
    windows = [Window((k, k + 1), "", (f"bikes/f00000{k}000.jpg",)) for k in (0, 5)]
    windows.append(Window((6, 7), "as it was"))
    vision = Vision(client, settings.models.vision)
    try:
        with pytest.raises(EndpointError, match="1 of 2 captions could not be had: HTTP 500"):
            caption_windows(vision, "Say what you see.", videos, windows)
        found = caption_windows(vision, "Say what you see.", videos, windows)
    finally:
        client.close()
    texts = ["Picture 1 is mostly grey.", "Picture 1 is mostly brown.", "as it was"]
    assert ([window.caption for window in found.windows], found.cut) == (texts, 0)


COLOURS = ("red", "green", "blue", "yellow", "pink", "purple")


def colour_questions(videos: Path) -> list[Question]:
    """24 questions about four made clips, a second each."""
    found = []
    for turn in range(4):
        colours = COLOURS[turn:] + COLOURS[:turn]
        video = make_clip(videos / f"clip{turn}.mp4", colours)
        build(video, video.stem, videos, Sizes(window_s=1, fanout=6, fps=1, side=64))
        video.unlink()
        for second, colour in enumerate(colours):
            value = {
                "question_id": f"{video.stem}-{second}",
                "task_type": "colour",
                "question": f"Which colour has second {second}?",
                "options": sorted(COLOURS),
                "answer": colour,
                "video_id": video.stem,
                "scope": {"span": [second, second + 1]},
            }
            found.append(Question.model_validate(value))
    return found


def test_every_rule_with_an_agent_is_given_the_vision_model() -> None:
    world = {"provider": "rehearsal", "max_tokens": 200}
    settings = {
        "data": {"questions": "questions.jsonl", "videos": "videos", "skills": "data/tree/skills"},
        "models": {"student": {**world, "model": "student"}, "vision": {**world, "model": "eyes"}},
        "agent": {"environment": "tree", "options_in": "question"},
        "train": {"epochs": 1, "batch_size": 6, "min_class_per_batch": 1},
    }
    shipped = yaml.safe_load((ROOT / "params.yaml").read_text())
    with checkout():
        Path("videos").mkdir()
        dump_questions(Path("questions.jsonl"), colour_questions(Path("videos")))
        config = overlay(overlay(shipped, settings), {"data": {"prompts": "data/tree/prompts"}})
        metrics = Run(config).train()
        assert metrics["test"]["delivered"] == {"accuracy": 1.0}
        logs = [
            json.loads(line)
            for log in Path("runs").rglob("calls/*")
            for line in log.read_text().split("\n")[:-1]
        ]
        paid = [log["role"] for log in logs if not log["cached"]]
        # Each colour is one picture, and one question more about each of the 24 seconds
        assert paid.count("vision") == 24
        files = read_json("runs/main/data/videos.json")["digests"]
        assert sorted(files) == sorted(path.as_posix() for path in Path("videos").rglob("*.*"))


@pytest.mark.dag
def test_more_files_than_a_command_has_room_for(project: Callable[[str], Project]) -> None:
    work = project("work")
    folder = work.root / "videos" / ("a" * 200) / ("b" * 200)
    folder.mkdir(parents=True)
    for number in range(330):
        (folder / f"{number}.png").write_text(str(number))
    more = {"run": "many", "agent": {"environment": "tree"}, "data": {"videos": "videos"}}
    work.params(overlay(work.values(), more))
    work.train("runs/many/data/videos.json")
    made = json.loads((work.root / "runs/many/data/videos.json").read_text())
    assert len(made["digests"]) == 330
    assert made["digests"] == made["derived_from"]
    # Linux takes 131,072 bytes as one argument
    assert sum(map(len, made["digests"])) > 131_072
