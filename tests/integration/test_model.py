"""The embedded model: the same answers in any order, and a training on real messages."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from skillmake.errors import EndpointError
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.local import LocalProvider, model_path
from skillmake.llm.types import ChatRequest
from skillmake.questions import load_questions
from tests.films import write_films
from tests.integration.conftest import ROOT, Project

MODEL = "SmolLM2-135M-Instruct"
pytestmark = pytest.mark.model
QUESTIONS = load_questions(ROOT / "data" / "triage" / "questions.jsonl")


def ask(tmp_path: Path, name: str, requests: list[ChatRequest], slots: int) -> dict[str, str]:
    client = Client(
        LocalProvider(MODEL, slots),
        "student",
        CallCache(tmp_path / name),
        Meter(tmp_path, Caps(), name),
        slots=slots,
    )
    try:
        replies = client.ask(requests)
    finally:
        client.close()
    return {
        str(request.messages[-1]["content"]): reply.response.text
        for request, reply in zip(requests, replies, strict=True)
        if reply.response
    }


@pytest.mark.parametrize("shared", [None, 1])
def test_an_answer_depends_on_its_request_alone(tmp_path: Path, shared: int | None) -> None:
    billing = [q for q in QUESTIONS if q.task_type == "billing"][:8]
    system = {
        "role": "system",
        "content": "Reply with one label only: " + ", ".join(billing[0].options or ()),
    }
    requests = []
    for q, other in zip(billing, [*billing[1:], billing[0]], strict=True):
        example = [
            {"role": "user", "content": other.question},
            {"role": "assistant", "content": other.answer},
        ]
        turns = (system, *(example if shared else []), {"role": "user", "content": q.question})
        requests.append(ChatRequest(messages=turns, choices=q.options, shared=shared))
    forward = ask(tmp_path, "forward", requests, 1)
    backward = ask(tmp_path, "backward", requests[::-1], 2)
    assert forward == backward
    assert set(forward.values()) <= set(billing[0].options or ())
    assert len(forward) == 8


def test_a_missing_model_says_what_to_do() -> None:
    with pytest.raises(EndpointError, match=r"no model file for 'nope\.gguf'"):
        model_path("nope.gguf")


@pytest.mark.parametrize("config", [*sorted(p.name for p in (ROOT / "configs").glob("*.yaml")), "(default)"])
def test_every_shipped_configuration_trains_on_a_tiny_budget(
    project: Callable[[str], Project], config: str
) -> None:
    """The parameters of the file with few questions, one epoch and small batches."""
    work = project("work")
    few = [q for q in QUESTIONS if q.task_type in ("billing", "area")]
    kept = [q for q in few if int(q.question_id.split("-")[1]) <= 10]
    lines = [json.dumps(q.model_dump(mode="json")) + "\n" for q in kept]
    (work.root / "few.jsonl").write_text("".join(lines))
    value = yaml.safe_load((ROOT / "params.yaml").read_text())
    work.params(value)
    tiny = {
        "train": {
            "epochs": 1,
            "batch_size": 6,
            "min_class_per_batch": 1,
            "eval_min_per_class": 2,
            "trainable_min_units": 4,
        },
        "evolve": {"edit_budget_start": 4, "edit_budget_end": 4},
        "rehearsal": {"types": 2, "units_per_type": 12},
    }
    named = yaml.safe_load((ROOT / "configs" / config).read_text()) if config != "(default)" else {}
    if named.get("agent", {}).get("environment") == "tree":
        write_films(work.root / "films", 8)
        tiny["data"] = {"questions": "films/questions.jsonl", "videos": "films/videos"}
    elif named.get("data", {}).get("questions") != "rehearsal":
        tiny["data"] = {"questions": "few.jsonl"}
    (work.root / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    chosen = [] if config == "(default)" else [f"configs/{config}"]
    work.train("--configfile", *chosen, "tiny.yaml")
    metrics = work.metrics()
    assert metrics["test"]["units"] > 0  # type: ignore[index]
    assert metrics["edits"]["tried"] + metrics["edits"]["skipped"] > 0  # type: ignore[index]
    assert list(work.root.glob("skills/*/SKILL.md"))
