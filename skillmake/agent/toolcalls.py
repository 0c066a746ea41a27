"""From what a model wrote to a checked tool call."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from skillmake.agent.environments.base import Tool
from skillmake.artifacts import canonical_line
from skillmake.errors import ConfigError
from skillmake.questions import did_you_mean, parse_json

LONGEST_QUOTE = 200
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the OpenAI API takes; it is also a folder of the prompts


@dataclass(frozen=True)
class ToolCall:
    """A call as the loop uses it; `problem` is empty when it may be made.

    `call_id` is ours and not the endpoint's: ids drawn at random would give each later request a new key.
    """

    call_id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    @property
    def key(self) -> str:
        """Equal for identical calls."""
        return canonical_line([self.tool, self.arguments])

    @property
    def wire(self) -> dict[str, Any]:
        """The call as it is shown to the model again."""
        function = {"name": self.tool or "unnamed", "arguments": canonical_line(self.arguments)}
        return {"id": self.call_id, "type": "function", "function": function}


def check_tools(tools: Sequence[Tool]) -> None:
    """Raise ConfigError for a name or `parameters` that no endpoint takes, and for a name given twice."""
    if not tools:
        return
    names = [tool.name for tool in tools]
    for tool in tools:
        if not isinstance(tool.name, str) or not NAME.fullmatch(tool.name):
            raise ConfigError(
                f"agent.environment: no tool can be called {tool.name!r}",
                "use up to 64 letters, digits, _ and -",
            )
        if names.count(tool.name) > 1:
            raise ConfigError(f"agent.environment: two tools are called {tool.name!r}")
        try:
            problem = _schema_problem(json.dumps(tool.parameters, sort_keys=True, allow_nan=False))
        except (TypeError, ValueError) as error:
            problem = str(error)
        if problem:
            raise ConfigError(f"agent.environment: tool {tool.name!r}: no JSON schema: {problem}")


# Every run opens its tools anew; the check of a schema takes longer than all else that a run computes
@cache
def _schema_problem(text: str) -> str:
    from jsonschema import Draft202012Validator, SchemaError

    schema = json.loads(text)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return str(error.message)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "arguments are an object: give it `type: object`"
    lost = [name for name in _references(schema) if not _is_there(name, schema)]
    return f"nothing in it is at {lost[0]!r}" if lost else ""


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        part = dict(enumerate(part))
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for inner in part.values():
            yield from _references(inner)


def _is_there(reference: str, schema: Any) -> bool:
    """Whether a reference is to a place in the schema itself; nothing is fetched from elsewhere."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    registry = Registry().with_resource("", DRAFT202012.create_resource(schema)).crawl()
    try:
        registry.resolver().lookup(reference)
    except Unresolvable:
        return False
    return True


def read_calls(raw: Sequence[Mapping[str, Any]], tools: Sequence[Tool], turn: int) -> list[ToolCall]:
    """The calls of one model turn, each checked against the schema of its tool."""
    # Nine letters and digits: the form of an id that every endpoint takes
    return [_read(call, tools, f"call{turn:02d}{place:03d}") for place, call in enumerate(raw)]


def _read(raw: Mapping[str, Any], tools: Sequence[Tool], call_id: str) -> ToolCall:
    function = raw.get("function")
    function = function if isinstance(function, Mapping) else {}
    name, text = str(function.get("name") or ""), function.get("arguments")
    known = {tool.name: tool for tool in tools}
    if name not in known:
        hint = did_you_mean(name, known)
        return ToolCall(
            call_id, name, {}, f"there is no tool {name!r}.{hint} The tools are: {', '.join(known)}"
        )
    schema = known[name].parameters
    try:
        # Some endpoints give the object itself, and nothing where there are no arguments
        value = parse_json(text) if isinstance(text, str) and text.strip() else text or {}
    except ValueError as error:
        return ToolCall(call_id, name, {}, _repair(f"arguments are not JSON: {error}", str(text), schema))
    if not isinstance(value, dict):
        return ToolCall(call_id, name, {}, _repair("arguments must be a JSON object", str(text), schema))
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: error.json_path)
    if errors:
        first = errors[0]
        return ToolCall(call_id, name, value, _repair(f"{first.json_path}: {first.message}", "", schema))
    return ToolCall(call_id, name, value)


def _repair(problem: str, given: str, schema: Mapping[str, Any]) -> str:
    quote = f" You wrote: {given[:LONGEST_QUOTE]}" if given else ""
    short = problem if len(problem) <= LONGEST_QUOTE else f"{problem[:LONGEST_QUOTE]}…"
    return f"{short}.{quote}\nThe arguments must fit: {json.dumps(dict(schema), sort_keys=True)}"
