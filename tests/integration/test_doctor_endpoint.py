"""doctor against a real server: each thing that can be wrong with an endpoint has its line."""

import json
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from skillmake.config.load import overlay, parse_config
from skillmake.doctor.lines import Line
from skillmake.doctor.models import model_lines
from skillmake.llm.local import model_path
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World

KEY = "sk-very-secret"
STUDENT = f"rehearsal-student@{World(WorldConfig()).digest}"
ROOT = Path(__file__).parents[2]
ALL_ROLES = {
    "evolve": {"teacher": "llm"},
    "diagnose": {"method": "judges"},
    "agent": {"environment": "tree"},
    "data": {"prompts": str(ROOT / "data" / "tree" / "prompts")},
}
Examine = Callable[..., dict[str, Line]]


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch) -> Examine:
    """Lines by what they are about, of a server and of changes to its models; no line shows the key."""

    def run(
        server: ServerConfig, base_url: str = "{url}/v1", key: str = KEY, **sections: Any
    ) -> dict[str, Line]:
        monkeypatch.setenv("A_KEY", key)
        with serve(server) as (url, _):
            model = {
                "provider": "openai",
                "base_url": base_url.format(url=url),
                "api_key_env": "A_KEY",
                "price_in": 2.0,
                "price_out": 10.0,
            }
            models = {role: {**model, "model": f"rehearsal-{role}"} for role in ("teacher", "judge")}
            models["student"] = {**model, "model": STUDENT}
            if "vision" in sections.get("models", {}):
                models["vision"] = model
            lines = list(model_lines(parse_config(overlay({"models": models}, sections))))
        assert KEY not in "\n".join(map(str, lines))
        return {line.what: line for line in lines}

    return run


def test_a_good_endpoint_is_ok_and_the_cost_is_said(examine: Examine) -> None:
    lines = examine(ServerConfig(api_key=KEY))
    assert {line.level for line in lines.values()} == {"ok"}
    assert lines["student: key"].found == "environment variable A_KEY: accepted"
    assert lines["student: model"].found == f"{STUDENT}: listed by the endpoint"
    assert [lines[f"student: {name}"].found for name in ("structured output", "tools", "images")] == (
        ["supported"] * 3
    )
    assert lines["teacher"].found == "not used (evolve.teacher: exemplar)"
    # At four characters a token and 85 a picture: 2 + 2 + 13 + 98 asked, 6 + 5 + 36 + 6 answered
    assert lines["cost of this check"].found.startswith("4 requests, 115 + 53 tokens; 0.000760 by models.*")


def test_every_used_role_is_probed(examine: Examine) -> None:
    lines = examine(ServerConfig(api_key=KEY), **ALL_ROLES)
    assert {line.level for line in lines.values()} == {"ok"}
    assert lines["judge: structured output"].found == "supported"
    assert lines["teacher: tools"].found.startswith("not supported, not needed: answered ")
    assert lines["cost of this check"].found.startswith("12 requests, ")


@pytest.mark.parametrize(
    ("how", "levels"),
    [("refuses", ("fail", "fail", "fail", "warn")), ("ignores", ("warn", "fail", "warn", "warn"))],
)
def test_features_that_are_switched_off(examine: Examine, how: str, levels: tuple[str, ...]) -> None:
    lacks = dict.fromkeys(("schema", "tools", "images"), how)
    lines = examine(ServerConfig.model_validate({"lacks": lacks}), **ALL_ROLES)
    bad = ("student: structured output", "student: tools", "student: images", "judge: structured output")
    assert tuple(lines[what].level for what in bad) == levels
    assert all(lines[what].todo for what in bad)
    said = (
        "refused: HTTP 400: tools: not supported" if how == "refuses" else "ignored: answered 'I do not know"
    )
    assert lines["student: tools"].found.startswith(said)
    assert lines["judge: tools"].level == "ok"
    # What no role needs is no problem
    plain = examine(ServerConfig.model_validate({"lacks": lacks}), agent={"constrained": False})
    assert {line.level for line in plain.values()} == {"ok"}


def test_a_vision_model_must_see_and_then_the_student_need_not(examine: Examine) -> None:
    eyes = {"provider": "openai", "model": "rehearsal-vision", "api_key_env": "A_KEY"}
    sections = overlay(ALL_ROLES, {"models": {"vision": eyes}})
    lines = examine(ServerConfig(lacks={"images": "ignores"}), **sections)
    assert lines["vision: images"].level == "fail"
    assert lines["vision: tools"].level == "ok"
    assert lines["student: images"].found.startswith("not supported, not needed")
    plain = examine(ServerConfig(), models={"vision": eyes})
    assert plain["vision"].found == "not used (agent.environment: qa)"


def test_a_single_missing_feature_is_told_from_the_others(examine: Examine) -> None:
    lines = examine(ServerConfig(lacks={"images": "refuses"}), **ALL_ROLES)
    assert [what for what, line in lines.items() if line.level != "ok"] == ["student: images"]


@pytest.mark.parametrize(
    ("more", "what", "found", "todo"),
    [
        ({"key": "sk-wrong-key"}, "key", "A_KEY: refused (HTTP 401)", "export A_KEY=… with a valid key"),
        ({"key": ""}, "key", "A_KEY: not set, and a key is asked for (HTTP 401)", "export A_KEY=…"),
        ({"key": f"{KEY}\n"}, "key", "A_KEY holds no key: white space, control", "without a line feed"),
        (
            {"base_url": "http://127.0.0.1:1/v1"},
            "endpoint",
            "http://127.0.0.1:1/v1: not reached: ",
            "start the server",
        ),
        ({"base_url": "http://[::1/v1"}, "endpoint", "base_url is no address", "http://host:port/v1"),
        ({"base_url": "{url}"}, "model", "HTTP 404", "models.*.base_url usually ends in /v1"),
        (
            {"models": {"student": {"model": "rehearsal-studnet"}}},
            "model",
            "rehearsal-studnet: HTTP 404: The model",
            f"did you mean {STUDENT}?",
        ),
    ],
)
def test_what_is_wrong_is_named_with_the_way_out(
    examine: Examine, more: Mapping[str, Any], what: str, found: str, todo: str
) -> None:
    lines = examine(ServerConfig(api_key=KEY), **more)
    line = lines[f"student: {what}"]
    assert line.level == "fail"
    assert found in line.found
    assert todo in line.todo
    assert len([each for each in lines.values() if each.level == "fail"]) == 1


def test_a_key_that_may_be_missing_is_told_before_the_endpoint_is_reached(examine: Examine) -> None:
    lines = examine(ServerConfig(), base_url="http://127.0.0.1:1/v1", key="")
    assert lines["student: endpoint"].level == "fail"
    assert lines["student: key"].level == "warn"
    assert lines["student: key"].todo == "export A_KEY=… if it asks for one"


def test_a_busy_endpoint_is_no_failure(examine: Examine) -> None:
    lines = examine(ServerConfig.model_validate({"api_key": KEY, "faults": [{"kind": "429", "rate": 1}]}))
    assert lines["student: answer"].level == "warn"
    assert lines["student: answer"].found.startswith("not now: HTTP 429")
    assert lines["cost of this check"].found.startswith("1 request, 0 + 0 tokens")


def test_an_answer_that_is_cut_off_shows_nothing(examine: Examine) -> None:
    lines = examine(ServerConfig(), **overlay(ALL_ROLES, {"models": {"student": {"max_tokens": 1}}}))
    assert lines["student: images"].level == "warn"
    assert lines["student: images"].found == "cannot be told: the answer ends at 1 tokens"
    assert lines["student: images"].todo == "raise models.student.max_tokens"


class Quoting(BaseHTTPRequestHandler):
    """An endpoint without a list of models, whose refusal quotes the key."""

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        body = json.dumps({"error": {"message": f"no credit on {self.headers['Authorization']}"}}).encode()
        self.send_response(402)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def quoting() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Quoting) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_a_key_that_the_endpoint_quotes_is_hidden(examine: Examine, quoting: str) -> None:
    lines = examine(ServerConfig(), base_url=quoting)
    assert lines["student: answer"].level == "fail"
    assert lines["student: answer"].found == "HTTP 402: no credit on Bearer …"


@pytest.mark.model
def test_the_embedded_model_is_probed_too(tmp_path: Path) -> None:
    lines = {line.what: line for line in model_lines(parse_config({}))}
    assert {line.level for line in lines.values()} == {"ok"}
    assert lines["student: model file"].found.endswith(" MB, intact")
    assert lines["student: structured output"].found == "supported"
    assert lines["student: images"].found.startswith("not supported, not needed: embedded model: ")
    cut = tmp_path / "cut.gguf"
    with model_path("SmolLM2-135M-Instruct").open("rb") as file:
        cut.write_bytes(file.read(10_000_000))
    student = {"provider": "local", "model": str(cut)}
    broken = {line.what: line for line in model_lines(parse_config({"models": {"student": student}}))}
    assert broken["student: answer"].found == f"models.*.model: {cut} cannot be loaded"
