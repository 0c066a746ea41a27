"""One run of an agent: model turns and tool calls until an answer (ReAct; Yao et al. 2023).

Without tools it is one request and its answer. What ends a run: an answer (`answered`), `max_steps` turns
without one, or a call that failed for good (`error`). A call that fits no tool is answered with the schema,
and the agent may repair it; a call that was answered before, also by an error, is not made again. The agent
is told that its next turn is the last after two turns in a row that brought nothing new (so what is malformed
is repaired once), before turn `max_steps`, and when its context is full and no result is left to drop.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from skillmake.agent.environments.base import Context, ToolResult, are_texts
from skillmake.agent.extract import whole_answers
from skillmake.agent.toolcalls import ToolCall, read_calls
from skillmake.agent.trace import Outcome, Step
from skillmake.config.models import Agent as AgentConfig
from skillmake.llm.types import CallError, ChatRequest, ChatResponse, Message, Reply
from skillmake.rounds import Play
from skillmake.skilltext import CHARACTERS_PER_TOKEN
from skillmake.texts import tool_path

StopReason = Literal["answered", "max_steps", "error"]
MOST_IDLE = 2
CUT = "cut off at max_tokens before an answer"
MOST_CALLS = 16  # of one turn
LAST = "This is your last turn. Call no tool; answer the question now with what you have found."
DROPPED = "[This result was dropped to keep within the context. Call again if you need it.]"


@dataclass(frozen=True)
class ToolTexts:
    """The two texts of a tool; an empty one is not asked."""

    extract: str = ""
    verify: str = ""


@dataclass(frozen=True)
class Start:
    """What a run begins with. `asked`: the question as the tools' prompts show it."""

    request: ChatRequest
    context: Context
    asked: str
    texts: Mapping[str, ToolTexts]


@dataclass
class Run:
    """What has happened so far; at the end, the result of the run."""

    messages: list[Message]
    calls: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    answer: str = ""
    stop_reason: StopReason = "max_steps"
    error: str = ""
    turn: int = 0
    idle: int = 0
    seen: dict[str, str] = field(default_factory=dict)  # key of a call → id of the message with its result
    failed: set[str] = field(default_factory=set)  # keys of calls that the tool answered with an error

    def count(self, reply: Reply) -> ChatResponse | None:
        """Note what a call cost; None ends the run as an error."""
        self.calls.append(reply.key)
        if isinstance(reply.outcome, CallError):
            self.stop_reason, self.error = "error", reply.outcome.reason
            return None
        self.prompt_tokens += reply.outcome.prompt_tokens
        self.completion_tokens += reply.outcome.completion_tokens
        return reply.outcome

    def end(self, response: ChatResponse) -> None:
        """End with an answer. What was cut off is the agent's own doing, not an error of the endpoint."""
        self.stop_reason, self.answer = "answered", response.text
        if response.finish == "length":
            self.answer = whole_answers(response.text)
            self.error = "" if self.answer else CUT


@dataclass
class Use:
    """A tool call on its way to the agent."""

    call: ToolCall
    outcome: Outcome
    result: ToolResult
    verdict: str = ""


def play(start: Start, config: AgentConfig) -> Play[ChatRequest, Reply, Run]:
    """The run as a generator: it yields requests, is sent their replies, and returns the Run."""
    run = Run(list(start.request.messages))
    has_tools = bool(start.context.tools)
    is_last = has_tools and config.max_steps == 1
    for run.turn in range(1, config.max_steps + 1):
        is_full = not _keep_within(run, start, config.context_tokens)
        is_last = is_last or run.idle >= MOST_IDLE or (is_full and run.turn > 1)
        if is_last:
            run.messages.append({"role": "user", "content": LAST})
        (reply,) = yield [replace(start.request, messages=tuple(run.messages))]
        response = run.count(reply)
        if response is None:
            return run
        run.trace.append(response.text)
        if not response.tool_calls or not has_tools:
            run.end(response)
            return run
        if is_last:
            return run
        yield from _use_tools(run, response, start, config)
        if run.stop_reason == "error":
            return run
        is_last = run.turn == config.max_steps - 1
    return run


def _use_tools(
    run: Run, response: ChatResponse, start: Start, config: AgentConfig
) -> Generator[Sequence[ChatRequest], Sequence[Reply], None]:
    """Make the calls of one turn and add their results to the messages."""
    uses: list[Use] = []
    for place, call in enumerate(read_calls(response.tool_calls, start.context.tools, run.turn)):
        if place < MOST_CALLS:
            uses.append(_make(call, run, [use.call.key for use in uses], start))
        else:
            text = f"Error: at most {MOST_CALLS} calls are made in one turn; this one was not."
            uses.append(Use(call, "error", ToolResult(text, is_error=True)))
    found = [use for use in uses if use.outcome == "found" and not use.result.is_notice]
    for use in found:
        use.result = _whole(use, start, config)
    yield from _refine(run, found, start, config, "extract")
    yield from _refine(run, found, start, config, "verify")
    if run.stop_reason == "error":
        return
    run.idle = 0 if any(use.outcome in ("found", "error") for use in uses) else run.idle + 1
    run.messages.append(
        {"role": "assistant", "content": response.text or None, "tool_calls": [u.call.wire for u in uses]}
    )
    for use in uses:
        _tell(run, use, config.result_tokens)


def _make(call: ToolCall, run: Run, same_turn: Sequence[str], start: Start) -> Use:
    if call.problem:
        return Use(call, "malformed", ToolResult(f"Error: {call.problem}", is_error=True))
    if call.key in run.failed:
        return Use(call, "repeated", ToolResult("You made this very call before; it fails again."))
    if call.key in run.seen or call.key in same_turn:
        where = "above" if call.key in run.seen else "in this same turn"
        return Use(call, "repeated", ToolResult(f"You made this very call {where}; its result stands there."))
    result = call_tool(start.context, call.tool, call.arguments)
    if result.images and not start.texts[call.tool].extract:
        missing = f"pictures need a prompt that says what to look for: {tool_path(call.tool, 'extract')}"
        result = ToolResult(missing, is_error=True)
    if result.is_error:
        run.failed.add(call.key)
        return Use(call, "error", replace(result, text=f"Error: {result.text}"))
    return Use(call, "found", result)


def call_tool(context: Context, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
    """What a tool gives; an exception is an error of the tool, and so is what is no result."""
    try:
        return _sound(context.call(tool, arguments))
    except Exception as error:  # the user's code: one bad call must not end all runs; the trace shows it
        return ToolResult(f"the tool failed: {type(error).__name__}: {error}", is_error=True)


def _sound(result: object) -> ToolResult:
    if not isinstance(result, ToolResult):
        raise TypeError(f"it gave {type(result).__name__}, not a ToolResult")
    if not are_texts([result.text]) or not are_texts(result.nodes) or not are_texts(result.images):
        raise TypeError("text, nodes and images of its ToolResult must be a text and tuples of texts")
    "".join((result.text, *result.nodes)).encode()  # half of a surrogate pair could not be sent or kept
    return result


def _whole(use: Use, start: Start, config: AgentConfig) -> ToolResult:
    """The result, naming no node as read when a part of it will be cut."""
    extract = start.texts[use.call.tool].extract
    shown = config.context_tokens // 2 if extract else config.result_tokens
    cut = not use.result.is_uncut and len(use.result.text) > shown * CHARACTERS_PER_TOKEN
    return replace(use.result, nodes=()) if cut else use.result


def _refine(
    run: Run, uses: Sequence[Use], start: Start, config: AgentConfig, which: Literal["extract", "verify"]
) -> Generator[Sequence[ChatRequest], Sequence[Reply], None]:
    """Ask a tool's extract or verify prompt about each result that has one."""
    wanted = [use for use in uses if getattr(start.texts.get(use.call.tool), which, "")]
    if run.stop_reason == "error" or not wanted:
        return
    limit = config.context_tokens // 2
    requests = [_refining(use, start, getattr(start.texts[use.call.tool], which), limit) for use in wanted]
    replies = yield requests
    for use, response in zip(wanted, [run.count(reply) for reply in replies], strict=True):
        if response is None:
            if use.result.images:
                run.error += f" (pictures of {use.call.tool} {json.dumps(use.call.arguments)})"
            return
        if which == "extract":
            # The verify prompt is about this text: the pictures are not sent and paid once more
            use.result = replace(use.result, text=response.text, images=())
        else:
            use.verdict = response.text.strip()


def _refining(use: Use, start: Start, instruction: str, limit: int) -> ChatRequest:
    call = f"{use.call.tool} {json.dumps(use.call.arguments)}"
    text = f"Question: {start.asked}\n\nTool call: {call}\n\nResult:\n" + capped(use.result.text, limit)
    images = [{"type": "image_url", "image_url": {"url": url}} for url in use.result.images]
    content: Any = [{"type": "text", "text": text}, *images] if images else text
    messages = ({"role": "system", "content": instruction}, {"role": "user", "content": content})
    return replace(start.request, messages=messages, tools=(), choices=None)


def _tell(run: Run, use: Use, limit: int) -> None:
    text = use.result.text if use.result.is_uncut else capped(use.result.text, limit)
    text += f"\n\nCheck: {use.verdict}" if use.verdict else ""
    run.messages.append({"role": "tool", "tool_call_id": use.call.call_id, "content": text})
    if use.outcome == "found":
        run.seen[use.call.key] = use.call.call_id
    run.steps.append(
        Step(
            turn=run.turn,
            tool=use.call.tool,
            arguments=use.call.arguments,
            outcome=use.outcome,
            result=text,
            nodes=use.result.nodes,
            verdict=use.verdict,
        )
    )


def capped(text: str, tokens: int) -> str:
    """The text, cut at so many tokens with a notice that says so."""
    if len(text) <= tokens * CHARACTERS_PER_TOKEN:
        return text
    total = -(-len(text) // CHARACTERS_PER_TOKEN)
    notice = f"[cut: {tokens} of {total} tokens are shown; ask for less]"
    return f"{text[: tokens * CHARACTERS_PER_TOKEN]}\n{notice}"


def _keep_within(run: Run, start: Start, limit: int) -> bool:
    """Drop the oldest tool results until tools and messages fit; False if they still do not."""
    size = sum(len(json.dumps(part)) for part in (*start.request.tools, *run.messages))
    for place, message in enumerate(run.messages):
        if size <= limit * CHARACTERS_PER_TOKEN:
            return True
        if message["role"] != "tool" or len(message["content"]) <= len(DROPPED):
            continue
        size -= len(message["content"]) - len(DROPPED)
        run.messages[place] = {**message, "content": DROPPED}
        run.seen = {key: where for key, where in run.seen.items() if where != message["tool_call_id"]}
    return size <= limit * CHARACTERS_PER_TOKEN
