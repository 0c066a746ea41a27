"""Skill files against the published Agent Skills format (agentskills.io/specification): every problem."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from skillmake.errors import DataError
from skillmake.skilltext import FRONT_MATTER, LONGEST_DESCRIPTION, LONGEST_NAME, parse_skill

SKILL_FILE = "SKILL.md"
LONGEST_COMPATIBILITY = 500
LONGEST_BODY = 500  # lines; the format recommends fewer
FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
STRING, NOTHING = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"


@dataclass(frozen=True)
class Problem:
    """What is wrong in a file. `line` is 1-based, 0 for the whole file; only an error breaks the format."""

    text: str
    line: int = 0
    is_error: bool = True
    path: str = SKILL_FILE

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {'error' if self.is_error else 'warning'}: {self.text}"


def check_skill(data: bytes, folder: str) -> list[Problem]:
    """Problems of a SKILL.md that lies in `folder`, in the order of its lines."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return [Problem(f"not UTF-8: byte {error.start}: {error.reason}; save the file as UTF-8")]
    if text.startswith("\ufeff"):
        return [Problem("begins with a byte order mark; save the file as UTF-8 without it", 1)]
    if "\r" in text:
        line = text.split("\r")[0].count("\n") + 1
        return [
            Problem("has a carriage return; end lines with a line feed alone, as training writes them", line)
        ]
    found = FRONT_MATTER.match(text)
    if not found:
        return [Problem("no front matter: begin with the lines ---, name:, description:, ---", 1)]
    problems = list(_front_matter(found.group(1), folder))
    lines = text.count("\n", found.end())
    if lines > LONGEST_BODY:
        advice = f"the body has {lines} lines; the format recommends at most {LONGEST_BODY}"
        problems.append(Problem(advice, is_error=False))
    return sorted(problems, key=lambda each: each.line) or list(_for_training(text))


def _for_training(text: str) -> Iterator[Problem]:
    """What only skillmake asks for: its markers must be sound."""
    try:
        parse_skill(text)
    except DataError as error:
        yield Problem(f"{error.message.removeprefix(f'{SKILL_FILE}: ')}; {error.hint}")


def _front_matter(text: str, folder: str) -> Iterator[Problem]:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        yield Problem(f"front matter is not valid YAML: {error.problem}", mark.line + 2 if mark else 1)
        return
    except yaml.YAMLError as error:
        yield Problem(f"front matter is not valid YAML: {error}", 1)
        return
    if not isinstance(root, MappingNode):
        yield Problem("front matter is no mapping: write name: and description:", 2)
        return
    fields: dict[str, Node] = {}
    for key, value in root.value:
        name = str(key.value)
        for problem in _field(name, value, folder, is_repeated=name in fields):
            yield replace(problem, line=_line(value if name == "metadata" else key))
        fields[name] = value
    for name in ("name", "description"):
        if name not in fields:
            yield Problem(f"{name} is missing", 1)


def _line(node: Node) -> int:
    """Line in the file: the front matter begins on its second."""
    return int(node.start_mark.line) + 2


def _field(name: str, value: Node, folder: str, *, is_repeated: bool) -> Iterator[Problem]:
    if is_repeated:
        yield Problem(f"{name} is there twice")
    if name not in FIELDS:
        known = ", ".join(FIELDS)
        yield Problem(f"{name} is no field of the format ({known}); put it under metadata", is_error=False)
    elif name == "metadata":
        yield from _metadata(value)
    elif name == "allowed-tools" and isinstance(value, SequenceNode):
        if not all(_text(item) for item in value.value):
            yield Problem("allowed-tools must be texts")
    elif (text := _text(value)) is None:
        yield Problem(f"{name} must be a text; put it in quotes")
    else:
        yield from _text_field(name, text, folder)


def _text_field(name: str, text: str, folder: str) -> Iterator[Problem]:
    if name == "name" and (not NAME.fullmatch(text) or len(text) > LONGEST_NAME):
        yield Problem(f"name {text!r} must be 1-{LONGEST_NAME} of a-z, 0-9 and single hyphens inside")
    elif name == "name" and text != folder:
        yield Problem(f"name {text!r} must be that of the folder, {folder!r}: rename one of them")
    most = {"description": LONGEST_DESCRIPTION, "compatibility": LONGEST_COMPATIBILITY}.get(name)
    if most and not (text.strip() and len(text) <= most):
        yield Problem(f"{name} has {len(text.strip()) and len(text)} characters, 1-{most} are allowed")


def _metadata(value: Node) -> Iterator[Problem]:
    if not isinstance(value, MappingNode):
        yield Problem("metadata must be a mapping of texts to texts")
        return
    for key, part in value.value:
        if _text(part) is None:
            yield Problem(f"metadata.{key.value} is no text, as the format wants it", is_error=False)


def _text(node: Node) -> str | None:
    return node.value if isinstance(node, ScalarNode) and node.tag == STRING else None
