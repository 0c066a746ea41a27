"""A SKILL.md as text: front matter, rules, worked examples, appendix, momentum block (DESIGN §2)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import yaml

from skillmake.errors import DataError

MOMENTUM_BEGIN, MOMENTUM_END = "<!-- momentum:begin -->", "<!-- momentum:end -->"
EXAMPLES, APPENDIX = "## Examples", "## Appendix"
CHARACTERS_PER_TOKEN = 4
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1024
FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)
HEADING = re.compile(r"^##? .*$", re.MULTILINE)
MOMENTUM = re.compile(rf"\n*{re.escape(MOMENTUM_BEGIN)}\n(.*?)\n?{re.escape(MOMENTUM_END)}\n?", re.DOTALL)


@dataclass(frozen=True)
class Skill:
    """A checked skill file; `body` is the text behind the front matter."""

    name: str
    description: str
    body: str


@dataclass(frozen=True)
class Example:
    """A worked example; it is shown to the agent as an earlier turn."""

    question: str
    answer: str


def parse_skill(text: str, name: str = "SKILL.md") -> Skill:
    """Check a skill file against the Agent Skills format; DataError says what is missing, and where."""
    found = FRONT_MATTER.match(text)
    if not found:
        raise DataError(f"{name}: no front matter", "begin with ---, name:, description:, ---")
    try:
        head = yaml.safe_load(found.group(1))
    except yaml.YAMLError as error:
        raise DataError(f"{name}: front matter is not valid YAML: {error}") from None
    head = head if isinstance(head, dict) else {}
    slug, about = str(head.get("name") or ""), str(head.get("description") or "")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug) or len(slug) > LONGEST_NAME:
        raise DataError(f"{name}: name {slug!r} must be 1-64 of a-z, 0-9 and single hyphens")
    if not about.strip() or len(about) > LONGEST_DESCRIPTION:
        raise DataError(f"{name}: description must have 1-{LONGEST_DESCRIPTION} characters")
    fences = [fence for fence in re.findall(r"<!-- momentum:\w+ -->", text)]
    if fences not in ([], [MOMENTUM_BEGIN, MOMENTUM_END]):
        raise DataError(f"{name}: momentum markers must be one pair: {MOMENTUM_BEGIN} … {MOMENTUM_END}")
    return Skill(slug, about, text[found.end() :])


def front_matter(text: str) -> str:
    """The text up to the body."""
    found = FRONT_MATTER.match(text)
    return found.group(0) if found else ""


def section(text: str, heading: str) -> tuple[int, int] | None:
    """Start and end of the lines under `heading`, up to the next heading or the momentum block."""
    found = re.search(rf"^{re.escape(heading)}[ \t]*$", text, re.MULTILINE)
    if not found:
        return None
    ends = [m.start() for m in HEADING.finditer(text, found.end())]
    ends += [m.start() for m in MOMENTUM.finditer(text, found.end())]
    return found.end(), min(ends, default=len(text))


def examples(text: str) -> list[Example]:
    """Worked examples in their order."""
    place = section(text, EXAMPLES)
    if place is None:
        return []
    out: list[Example] = []
    for block in re.findall(r"(?:^> ?.*\n?)+", text[place[0] : place[1]], re.MULTILINE):
        lines = [re.sub(r"^> ?", "", line) for line in block.rstrip("\n").split("\n")]
        split = next((k for k, line in enumerate(lines) if line.startswith("A: ")), None)
        if split and lines[0].startswith("Q: "):
            question = "\n".join([lines[0][3:], *lines[1:split]])
            answer = "\n".join([lines[split][3:], *lines[split + 1 :]])
            out.append(Example(_unescape(question), _unescape(answer)))
    return out


def with_examples(text: str, wanted: Sequence[Example]) -> str:
    """The text with exactly these worked examples; the section comes and goes with them."""
    blocks = [
        "\n".join([*_quoted("Q: ", example.question), *_quoted("A: ", example.answer)]) for example in wanted
    ]
    body = "\n\n" + "\n\n".join(blocks) + "\n" if blocks else ""
    place = section(text, EXAMPLES)
    if place is not None:
        start = text.rindex(EXAMPLES, 0, place[0]) if not blocks else place[0]
        before, after = text[:start], text[place[1] :]
        return _joined(before.rstrip("\n") + ("" if blocks else "\n") + body, after)
    if not blocks:
        return text
    appendix, block = section(text, APPENDIX), MOMENTUM.search(text)
    stops = [text.rindex(APPENDIX, 0, appendix[0])] if appendix else []
    stops += [block.start()] if block else []
    cut = min(stops, default=len(text))
    return _joined(text[:cut].rstrip("\n") + f"\n\n{EXAMPLES}" + body, text[cut:])


def rules_text(text: str) -> str:
    """What goes into the system message: the body without the worked examples."""
    body = text[len(front_matter(text)) :]
    return with_examples(body, []) if section(body, EXAMPLES) else body


def momentum(text: str) -> str:
    """Guidance in the momentum block, or an empty text."""
    found = MOMENTUM.search(text)
    return found.group(1) if found else ""


def with_momentum(text: str, guidance: str) -> str:
    """The text with this guidance in its momentum block, at the end; none when it is empty."""
    bare = MOMENTUM.sub("\n", text).rstrip("\n") + "\n"
    return f"{bare}\n{MOMENTUM_BEGIN}\n{guidance.strip()}\n{MOMENTUM_END}\n" if guidance.strip() else bare


def appendix_items(text: str) -> list[str]:
    """Bullet items of the appendix."""
    place = section(text, APPENDIX)
    if place is None:
        return []
    return [line[2:].strip() for line in text[place[0] : place[1]].splitlines() if line.startswith("- ")]


def estimated_tokens(text: str) -> int:
    """Tokens of a text, at four characters each, rounded up."""
    return ceil(len(text) / CHARACTERS_PER_TOKEN)


def _quoted(mark: str, text: str) -> list[str]:
    first, *rest = _escape(text).split("\n")
    return [f"> {mark}{first}", *(f"> {line}".rstrip() if not line else f"> {line}" for line in rest)]


def _escape(text: str) -> str:
    """A line of the question that looks like the answer's mark gets a backslash; so does a backslash."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"^(\\|A: )", r"\\\1", plain, flags=re.MULTILINE)


def _unescape(text: str) -> str:
    return re.sub(r"^\\(\\|A: )", r"\1", text, flags=re.MULTILINE)


def _joined(before: str, after: str) -> str:
    rest = after.strip("\n")
    return before + (f"\n{rest}\n" if rest else "")
