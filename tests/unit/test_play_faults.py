"""A run of an agent whose calls are malformed, repeated, failing or without end."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples.notebook import Notebook
from skillmake.agent.environments.base import Tool, ToolResult
from skillmake.agent.play import LAST, MOST_CALLS
from tests.playing import LOOK, PAGES, OddTools, run, told
from tests.scripted import Scripted, agent, call, calls, says, texts
from tests.worlds import question


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (call("open_pages", {"subject": "u1"}), "there is no tool 'open_pages'. Did you mean `open_page`?"),
        (call("open_page", "{'subject': u1}"), "arguments are not JSON"),
        (call("open_page", "[1]"), "arguments must be a JSON object"),
        (call("open_page", {"page": 1}), "'subject' is a required property"),
        (call("open_page", {"subject": 1}), "1 is not of type 'string'"),
        ({"id": "x"}, "there is no tool ''"),
        ({"id": "x", "function": "open_page"}, "there is no tool ''"),
        (call("open_page", "[" * 100_000), "arguments are not JSON: nested too deeply"),
    ],
)
def test_a_malformed_call_is_answered_and_can_be_repaired(
    tmp_path: Path, bad: dict[str, Any], problem: str
) -> None:
    student = Scripted(calls(bad), calls(LOOK), says("yes"))
    row = run(student, tmp_path)
    assert [step.outcome for step in row.steps] == ["malformed", "found"]
    assert problem in row.steps[0].result.replace("$: ", "")
    assert row.right
    echoed = student.requests[-1].messages[2]["tool_calls"][0]["function"]["arguments"]
    assert isinstance(json.loads(echoed), dict)


def test_arguments_may_come_as_an_object(tmp_path: Path) -> None:
    given = {"id": "x", "function": {"name": "open_page", "arguments": {"subject": "u1"}}}
    assert run(Scripted(calls(given), says("yes")), tmp_path).steps[0].outcome == "found"


def test_calls_that_stay_malformed_end_the_run(tmp_path: Path) -> None:
    student = Scripted(calls(call("nothing")))
    row = run(student, tmp_path, max_steps=50)
    assert (row.stop_reason, row.prediction, row.right) == ("max_steps", None, False)
    assert len(row.steps) == 2  # the third turn was the last, and called again
    assert student.requests[-1].messages[-1] == {"role": "user", "content": LAST}


def test_a_repeated_call_is_not_made_again(tmp_path: Path) -> None:
    student = Scripted(calls(LOOK, LOOK), calls(LOOK), says("yes"))
    row = run(student, tmp_path)
    assert [step.outcome for step in row.steps] == ["found", "repeated", "repeated"]
    assert [step.nodes for step in row.steps] == [("u1",), (), ()]
    assert "in this same turn" in told(student)[1]
    assert "above" in told(student)[2]


def test_a_loop_without_end_stops_at_max_steps(tmp_path: Path) -> None:
    turns = [calls(call("open_page", {"subject": f"s{k}"})) for k in range(9)]
    row = run(student := Scripted(*turns), tmp_path, max_steps=4)
    assert (row.stop_reason, row.right, len(row.calls)) == ("max_steps", False, 4)
    assert LAST in [message["content"] for message in student.requests[3].messages]
    assert LAST not in [message["content"] for message in student.requests[2].messages]


def test_the_last_turn_may_still_answer(tmp_path: Path) -> None:
    student = Scripted(calls(LOOK), says("Answer: no"))
    row = run(student, tmp_path, max_steps=2)
    assert (row.stop_reason, row.right) == ("answered", False)


def test_a_tools_error_is_an_answer(tmp_path: Path) -> None:
    student = Scripted(calls(call("open_page", {"subject": "u9"})), says("yes"))
    row = run(student, tmp_path)
    assert row.steps[0].outcome == "error"
    assert told(student) == ["Error: no page about u9; there are pages about u1, u2"]
    assert row.right


def test_a_call_that_fails_is_not_made_again(tmp_path: Path) -> None:
    student = Scripted(calls(call("open_page", {"subject": "u9"})))
    row = run(student, tmp_path, max_steps=50)
    assert [step.outcome for step in row.steps] == ["error", "repeated", "repeated"]
    assert "it fails again" in row.steps[1].result
    assert (row.stop_reason, len(row.calls)) == ("max_steps", 4)  # two idle turns, then the last one


def test_one_turn_makes_a_bounded_number_of_calls(tmp_path: Path) -> None:
    many = [call("open_page", {"subject": "u1", "page": k}) for k in range(MOST_CALLS + 2)]
    wide = Tool("open_page", "d", {"type": "object"})
    student = Scripted(calls(*many), says("yes"))
    row = agent(student, tmp_path, OddTools(PAGES, (wide,))).run([question("u1")], texts())[0]
    assert [step.outcome for step in row.steps] == ["found"] * MOST_CALLS + ["error"] * 2
    assert told(student)[-1] == f"Error: at most {MOST_CALLS} calls are made in one turn; this one was not."


class Broken(Notebook):
    def call(self, tool: str, arguments: Any) -> ToolResult:  # noqa: ARG002 - the signature
        raise KeyError(arguments["subject"])


def test_a_tool_that_raises_is_an_error_in_the_trace(tmp_path: Path) -> None:
    student = Scripted(calls(LOOK), says("yes"))
    row = agent(student, tmp_path, Broken(PAGES)).run([question("u1")], texts())[0]
    assert (row.steps[0].outcome, row.right) == ("error", True)
    assert told(student) == ["Error: the tool failed: KeyError: 'u1'"]
