"""Runs with tools: answers, limits, bad calls, prompts of tools, and keys by content."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples.notebook import OPEN_PAGE, Notebook, make
from skillmake.agent.environments.base import Tool, ToolResult
from skillmake.agent.play import DROPPED, LAST, capped
from skillmake.errors import ConfigError
from skillmake.llm.types import ChatRequest
from skillmake.questions import Question
from tests.playing import LOOK, PAGES, OddTools, run, told
from tests.scripted import SKILL, Scripted, agent, call, calls, says, texts
from tests.worlds import question


def test_a_run_looks_up_and_answers(tmp_path: Path) -> None:
    student = Scripted(calls(LOOK, text="Let me see."), says("Answer: yes"))
    row = run(student, tmp_path)
    assert (row.prediction, row.right, row.stop_reason) == ("yes", True, "answered")
    assert row.trace == ("Let me see.", "Answer: yes")
    (step,) = row.steps
    assert (step.turn, step.tool, step.arguments, step.outcome) == (
        1,
        "open_page",
        {"subject": "u1"},
        "found",
    )
    assert (step.result, step.nodes) == (PAGES["u1"], ("u1",))
    assert (row.prompt_tokens, row.completion_tokens, len(row.calls)) == (20, 3, 2)
    first, second = student.requests
    assert first.tools == (OPEN_PAGE.wire,)
    assert first.choices is None
    assert second.messages[: len(first.messages)] == first.messages
    assistant, result = second.messages[-2:]
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"] == "call01000"
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {"subject": "u1"}


def test_parallel_calls_are_answered_in_their_order(tmp_path: Path) -> None:
    other = call("open_page", {"subject": "u2"})
    student = Scripted(calls(other, LOOK), says("yes"))
    row = run(student, tmp_path)
    assert told(student) == [PAGES["u2"], PAGES["u1"]]
    assert [(step.turn, step.nodes) for step in row.steps] == [(1, ("u2",)), (1, ("u1",))]


def test_runs_go_on_side_by_side_and_do_not_mix(tmp_path: Path) -> None:
    student = Scripted(calls(LOOK), says("yes"))
    questions = [question(f"q{k}") for k in range(5)]
    rows = agent(student, tmp_path, Notebook(PAGES)).run(questions, texts())
    assert [row.question_id for row in rows] == [f"q{k}" for k in range(5)]
    # All first turns are asked before any second one
    assert [len(request.messages) for request in student.requests] == [2] * 5 + [4] * 5
    assert len({row.calls for row in rows}) == 5


def test_extract_and_verify_prompts_are_asked_about_each_result(tmp_path: Path) -> None:
    def refine(request: ChatRequest) -> str:
        system, user = (message["content"] for message in request.messages)
        assert "Is u1 so?" in user
        return f"{system} of {user.split('Result:')[1].strip()}"

    student = Scripted(calls(LOOK), says("yes"), refine=refine)
    prompts = {"tools/open_page/extract.md": "EXTRACT", "tools/open_page/verify.md": "VERIFY"}
    row = run(student, tmp_path, prompts)
    found = "EXTRACT of u1 is so, they say."
    assert told(student) == [f"{found}\n\nCheck: VERIFY of {found}"]
    assert row.steps[0].verdict == f"VERIFY of {found}"
    assert len(row.calls) == 4


class Silent(Notebook):
    def call(self, tool: str, arguments: Any) -> ToolResult:  # noqa: ARG002 - the signature
        return ToolResult("there are no pages", is_notice=True)

    def open(self, question: Question) -> "Silent":  # noqa: ARG002 - the protocol's signature
        return self


def test_no_prompt_is_asked_about_a_notice(tmp_path: Path) -> None:
    student = Scripted(calls(LOOK), says("yes"))
    prompts = {"tools/open_page/extract.md": "EXTRACT", "tools/open_page/verify.md": "VERIFY"}
    row = agent(student, tmp_path, Silent(PAGES)).run([question("u1")], texts(prompts))[0]
    assert told(student) == ["there are no pages"]
    assert (row.steps[0].outcome, len(row.calls)) == ("found", 2)


@pytest.mark.parametrize("where", ["Answer.", "EXTRACT", "they say"])
def test_a_call_that_fails_for_good_is_no_answer(tmp_path: Path, where: str) -> None:
    student = Scripted(calls(LOOK), says("yes"), fails=where)
    row = run(student, tmp_path, {"tools/open_page/extract.md": "EXTRACT"})
    assert (row.stop_reason, row.right, row.error) == ("error", None, "down")


def test_long_results_are_cut_with_a_notice(tmp_path: Path) -> None:
    student = Scripted(calls(LOOK), says("yes"))
    pages = {"u1": "x" * 401}
    agent(student, tmp_path, Notebook(pages), result_tokens=50).run([question("u1")], texts())
    assert told(student) == ["x" * 200 + "\n[cut: 50 of 101 tokens are shown; ask for less]"]
    assert capped("x" * 200, 50) == "x" * 200


def test_the_oldest_results_are_dropped_and_may_be_asked_again(tmp_path: Path) -> None:
    pages = {"u1": "a" * 720, "u2": "b" * 720}
    student = Scripted(calls(LOOK), calls(call("open_page", {"subject": "u2"})), calls(LOOK), says("yes"))
    # 580 tokens are 2320 characters: one page fits besides question and tool, two do not
    row = agent(student, tmp_path, Notebook(pages), context_tokens=580).run([question("u1")], texts())[0]
    assert [step.outcome for step in row.steps] == ["found"] * 3
    assert told(student) == [DROPPED, DROPPED, "a" * 720]


def test_a_full_context_makes_the_next_turn_the_last(tmp_path: Path) -> None:
    """Nothing can be dropped: what fills it is what the agent wrote itself."""
    chatty = [calls(call("open_page", {"subject": f"s{k}"}), text="x" * 900) for k in range(9)]
    row = run(student := Scripted(*chatty), tmp_path, context_tokens=500, max_steps=50)
    assert (row.stop_reason, len(row.calls)) == ("max_steps", 3)
    assert [LAST in str(request.messages) for request in student.requests] == [False, False, True]


def test_an_agent_with_one_turn_is_told_so(tmp_path: Path) -> None:
    student = Scripted(says("yes"))
    assert run(student, tmp_path, max_steps=1).right
    assert student.requests[0].messages[-1] == {"role": "user", "content": LAST}


def test_what_is_cut_does_not_count_as_read(tmp_path: Path) -> None:
    pages = {"u1": "x" * 401}
    for limit, read in ((50, ()), (101, ("u1",))):
        student = Scripted(calls(LOOK), says("yes"))
        asker = agent(student, tmp_path, Notebook(pages), result_tokens=limit)
        assert asker.run([question("u1")], texts())[0].steps[0].nodes == read


def key(root: Path, prompts: dict[str, str] | None = None, pages: Any = PAGES, **config: Any) -> str:
    student = Scripted(calls(LOOK), says("yes"))
    return agent(student, root, Notebook(pages), **config).run([question("u1")], texts(prompts))[0].run


def test_the_key_of_a_run_follows_all_that_may_change_it(tmp_path: Path) -> None:
    keys = [
        key(tmp_path),
        key(tmp_path, {"tools/open_page/extract.md": "E"}),
        key(tmp_path, {"tools/open_page/verify.md": "E"}),
        key(tmp_path, pages={"u1": "other"}),
        key(tmp_path, max_steps=3),
        key(tmp_path, result_tokens=99),
        key(tmp_path, skill_mode="tool"),
        key(tmp_path, skill_mode="off"),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == key(tmp_path)
    assert keys[0] == key(tmp_path, {"tools/another/extract.md": "E"})


def test_known_outcomes_are_looked_up_by_that_key(tmp_path: Path) -> None:
    student = Scripted(calls(LOOK), says("yes"))
    asker = agent(student, tmp_path, Notebook(PAGES))
    (row,) = asker.run([question("u1")], texts())
    seen = {"u1": row.observation}
    (again,) = asker.run([question("u1")], texts(), known=seen)
    assert (again.looked_up, again.right, again.observation) == (True, True, row.observation)
    assert asker.known([question("u1")], texts(), seen) == {"u1": True}
    changed = texts({"tools/open_page/extract.md": "E"})
    assert asker.known([question("u1")], changed, seen) == {}
    assert not asker.run([question("u1")], changed, known=seen)[0].looked_up


@pytest.mark.parametrize(("mode", "inline"), [("inline", True), ("tool", False), ("off", False)])
def test_where_the_skill_is(tmp_path: Path, mode: str, inline: bool) -> None:
    student = Scripted(calls(call("read_skill")), says("yes"))
    row = run(student, tmp_path, skill_mode=mode)
    assert ("Look first." in student.requests[0].messages[0]["content"]) is inline
    assert told(student)[0].startswith(SKILL[:40]) is (mode == "tool")
    assert row.steps[0].outcome == ("found" if mode == "tool" else "malformed")


def test_without_tools_a_run_is_its_one_request(tmp_path: Path) -> None:
    student = Scripted(says("yes"))
    (row,) = agent(student, tmp_path).run([question("u1")], texts())
    assert row.run == ""
    assert row.observation.call == row.calls[0]
    (request,) = student.requests
    assert (request.tools, request.choices) == ((), ("yes", "no"))


def test_the_example_environment_is_made_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text(json.dumps(PAGES))
    assert make(tmp_path).pages == PAGES
    from skillmake.agent.environments.factory import make_environment
    from skillmake.config.models import Agent as AgentConfig

    made = make_environment(AgentConfig(environment="examples.notebook:make"), tmp_path)
    assert made.open(question("u1")).tools == (OPEN_PAGE,)
    for name, message in [
        ("trees", "no environment 'trees'"),
        ("no.such:thing", "cannot make"),
        ("tests.unit.test_play:not_an_environment", "gives no object"),
    ]:
        with pytest.raises(ConfigError, match=message):
            make_environment(AgentConfig(environment=name), tmp_path)


def not_an_environment(folder: Path) -> Path:
    return folder


def part(reference: str) -> dict[str, Any]:
    parts = {"text": {"type": "string"}}
    return {"type": "object", "properties": {"a": {"anyOf": [{"$ref": reference}]}}, "$defs": parts}


def test_a_schema_may_name_a_part_of_itself(tmp_path: Path) -> None:
    tool = Tool("open_page", "d", part("#/$defs/text"))
    student = Scripted(calls(call("open_page", {"a": 1}), call("open_page", {"a": "x"})), says("yes"))
    (row,) = agent(student, tmp_path, OddTools(PAGES, (tool,))).run([question("u1")], texts())
    assert [step.outcome for step in row.steps] == ["malformed", "error"]


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ((OPEN_PAGE, OPEN_PAGE), "two tools are called 'open_page'"),
        ((Tool("t", "d", {"type": "objekt"}),), "tool 't': no JSON schema"),
        ((Tool("t", "d", {"type": "string"}),), "tool 't': no JSON schema: arguments are an object"),
        ((Tool("t", "d", {"type": "object", "enum": {1}}),), "tool 't': no JSON schema: .*set is not JSON"),
        ((Tool("t", "d", {"type": "object", "default": float("nan")}),), "tool 't': no JSON schema: Out of"),
        (
            (Tool("t", "d", part("#/$defs/none")),),
            "tool 't': no JSON schema: nothing in it is at '#/.defs/none'",
        ),
        ((Tool("t", "d", part("https://example.org/x")),), "tool 't': no JSON schema: nothing in it is at"),
        ((Tool("t", "d", None),), "tool 't': no JSON schema: None is not"),  # type: ignore[arg-type]
        ((Tool("my tool", "d", {"type": "object"}),), "no tool can be called 'my tool'"),
        ((Tool("../t", "d", {"type": "object"}),), "no tool can be called '../t'"),
    ],
)
def test_tools_that_are_not_sound(tmp_path: Path, tools: tuple[Tool, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        agent(Scripted(says("yes")), tmp_path, OddTools(PAGES, tools)).run([question("u1")], texts())


def test_requests_without_tools_keep_their_keys(tmp_path: Path) -> None:
    """A changed key would have every run paid again; this one was taken before there were tools."""
    (row,) = agent(Scripted(says("yes")), tmp_path).run([question("u1")], texts())
    assert row.calls == ("5f495e1e8efd3a13c06c08d0cafa6248f842f574b915ff053020d76f9aec9a80",)
