"""Who looks at pictures, what they cost, and what happens when they cannot be looked at."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.environments.tree import TreeEnvironment
from skillmake.agent.factory import open_student
from skillmake.agent.loop import Agent, Prediction
from skillmake.agent.vision import Vision
from skillmake.artifacts import canonical, write_text
from skillmake.config.endpoints import ModelConfig
from skillmake.config.load import granted, hashed_part, load_config, parse_config, pick, unhashed_part
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import ConfigError, TrainingAborted
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter, Price
from skillmake.llm.types import ChatRequest
from skillmake.windows import Window, tree_of
from tests.scripted import Scripted, call, calls, says, texts
from tests.unit.test_pixels import BLUE, RED, picture
from tests.worlds import question

ASKED = question("q", video_id="v")
LOOKS = calls(call("view_frames", {"node_id": "0"}), call("read_node", {"node_id": "0"}))
PROMPTS = {f"tools/view_frames/{kind}.md": kind.upper() for kind in ("extract", "verify")}
EYES = ModelConfig(provider="rehearsal", model="eyes", temperature=0.5, max_tokens=77)


def film(folder: Path, *names: str) -> TreeEnvironment:
    """One window with a red and a blue frame."""
    for name, colour in zip(names, (RED, BLUE), strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(picture((colour, 10)))
    write_text(folder / "v.json", canonical(tree_of("v", [Window((0, 4), "A wall.", names)], 2, folder)))
    return TreeEnvironment(AgentConfig(), folder)


def client(provider: Any, role: Any, root: Path, caps: Caps | None = None) -> Client:
    meter = Meter(root / "log", caps or Caps(), "job")
    return Client(provider, role, CallCache(root / "cache"), meter, price=Price(1e6, 0), retries=0)


def run(
    root: Path, environment: TreeEnvironment, student: Scripted, eyes: Scripted | None, **caps: Any
) -> Prediction:
    vision = Vision(client(eyes, "vision", root, Caps(**caps)), EYES) if eyes else None
    agent = Agent(
        client(student, "student", root),
        ModelConfig(),
        AgentConfig(nearest_examples=None),
        environment,
        vision,
    )
    return agent.run([ASKED], texts(PROMPTS))[0]


def seen(request: ChatRequest) -> str:
    return f"{len(request.pictures)} pictures for {request.messages[0]['content']}"


class Eyes(Scripted):
    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "eyes"}


def test_pictures_go_to_the_vision_model_and_all_else_to_the_student(tmp_path: Path) -> None:
    student, eyes = Scripted(LOOKS, says("yes"), refine=seen), Eyes(refine=seen)
    row = run(tmp_path, film(tmp_path / "f", "a.png", "b.png"), student, eyes)
    (asked,) = eyes.requests
    assert (asked.temperature, asked.max_tokens, len(asked.pictures)) == (0.5, 77, 2)
    assert [request.max_tokens for request in student.requests] == [64] * 3
    assert not any(request.pictures for request in student.requests)
    look, read = row.steps
    assert look.result == "2 pictures for EXTRACT\n\nCheck: 0 pictures for VERIFY"
    assert (read.tool, read.result.split("\n")[-1]) == ("read_node", "A wall.")
    assert row.right
    log = [json.loads(line) for line in (tmp_path / "log/calls/job.jsonl").read_text().splitlines()]
    assert [line["role"] for line in log] == ["student", "vision", "student", "student"]
    assert [line["cost"] for line in log] == [10] * 4
    assert row.prompt_tokens == 40


def test_without_a_vision_model_the_student_looks(tmp_path: Path) -> None:
    student = Scripted(LOOKS, says("yes"), refine=seen)
    row = run(tmp_path, film(tmp_path / "f", "a.png", "b.png"), student, None)
    assert row.steps[0].result.startswith("2 pictures for EXTRACT")
    assert [len(request.pictures) for request in student.requests] == [0, 2, 0, 0]


def test_a_picture_is_known_by_its_content_and_not_by_its_place(tmp_path: Path) -> None:
    def eyes_of(folder: str, *names: str) -> Eyes:
        eyes = Eyes(refine=seen)
        run(tmp_path, film(tmp_path / folder, *names), Scripted(LOOKS, says("yes")), eyes)
        return eyes

    assert len(eyes_of("one", "a.png", "b.png").requests) == 1
    assert len(eyes_of("two", "x/c.png", "x/d.png").requests) == 0
    environment = film(tmp_path / "three", "a.png", "b.png")
    (tmp_path / "three/a.png").write_bytes(picture((BLUE, 10)))
    eyes = Eyes(refine=seen)
    run(tmp_path, environment, Scripted(LOOKS, says("yes")), eyes)
    assert len(eyes.requests) == 1


def test_the_key_of_a_run_follows_the_vision_model(tmp_path: Path) -> None:
    environment = film(tmp_path / "f", "a.png", "b.png")
    keys = {
        run(tmp_path, environment, Scripted(says("yes")), None).run,
        run(tmp_path, environment, Scripted(says("yes")), Eyes()).run,
        run(tmp_path, environment, Scripted(says("yes")), Scripted()).run,
    }
    assert len(keys) == 3
    assert run(tmp_path, environment, Scripted(says("yes")), Eyes()).run in keys


def test_pictures_that_cannot_be_looked_at_are_an_error_that_names_them(tmp_path: Path) -> None:
    student, eyes = Scripted(LOOKS, says("yes")), Eyes(fails="EXTRACT")
    row = run(tmp_path, film(tmp_path / "f", "a.png", "b.png"), student, eyes)
    assert (row.stop_reason, row.right) == ("error", None)
    assert row.error == 'down (pictures of view_frames {"node_id": "0"})'


def test_the_caps_of_the_run_hold_for_pictures_too(tmp_path: Path) -> None:
    with pytest.raises(TrainingAborted, match=r"limits.max_calls: 1 of 1 are spent"):
        run(tmp_path, film(tmp_path / "f", "a.png", "b.png"), Scripted(LOOKS), Eyes(), calls=1)


def test_the_embedded_model_cannot_be_the_vision_model() -> None:
    with pytest.raises(ConfigError, match=r"models.vision: the embedded model sees no pictures"):
        parse_config({"models": {"vision": {}}})
    with pytest.raises(ConfigError, match=r"models.vision.modle: .* did you mean `models.vision.model`"):
        parse_config({"models": {"vision": {"provider": "openai", "modle": "m"}}})


def test_only_rules_whose_agent_looks_things_up_are_given_the_vision_model(tmp_path: Path) -> None:
    eyes = {"provider": "rehearsal", "model": "eyes", "price_in": 3}
    student = {"provider": "rehearsal", "model": "student"}
    value = {"models": {"student": student, "vision": eyes}, "agent": {"environment": "tree"}}
    config = parse_config(value)
    assert "price_in" not in hashed_part(config)["models"]["vision"]

    def given(*keys: str) -> Any:
        return granted(pick(hashed_part(config), keys), unhashed_part(config))

    assert given("models.student", "models.vision").models.vision == config.models.vision
    with pytest.raises(AttributeError):
        _ = given("models.student").models.vision
    film(tmp_path, "a.png", "b.png")
    rule = given("models.student", "models.vision", "agent", "rehearsal")
    rule = rule.model_copy(update={"data": load_config().data.model_copy(update={"videos": str(tmp_path)})})
    with open_student(rule, cache_dir=tmp_path / "c", log_dir=tmp_path / "l", log_name="job") as agent:
        (row,) = agent.run([ASKED], texts(PROMPTS))
    assert row.steps[-1].result.startswith("Picture 1 is mostly red. Picture 2 is mostly blue.")
    log = [json.loads(line) for line in (tmp_path / "l/calls/job.jsonl").read_text().splitlines()]
    assert [line["role"] for line in log].count("vision") == 1
