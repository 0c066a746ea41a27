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
MARKER = re.compile(r"<!--\s*momentum:.*?-->")
# Markers count on lines of their own only: a worked example may quote them
MOMENTUM = re.compile(
    rf"\n*^{re.escape(MOMENTUM_BEGIN)}\n(.*?)\n?^{re.escape(MOMENTUM_END)}(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
CODE = re.compile(
    r"^(```+|~~~+)(?:(?!^## (?:Examples|Appendix)).)*?^\1[`~]*[ \t]*$", re.DOTALL | re.MULTILINE
)
BLOCK = re.compile(r"(?:^> ?.*\n?)+", re.MULTILINE)


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
        raise DataError(
            f"{name}: no front matter",
            "begin with the lines ---, name:, description:, ---, each ended by a line feed",
        )
    try:
        head = yaml.safe_load(found.group(1))
    except (yaml.YAMLError, ValueError) as error:  # a date that does not exist is a plain ValueError
        raise DataError(f"{name}: front matter is not valid YAML: {error}") from None
    head = head if isinstance(head, dict) else {}
    slug, about = str(head.get("name") or ""), str(head.get("description") or "")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug) or len(slug) > LONGEST_NAME:
        raise DataError(f"{name}: name {slug!r} must be 1-64 of a-z, 0-9 and single hyphens")
    if not about.strip() or len(about) > LONGEST_DESCRIPTION:
        raise DataError(f"{name}: description must have 1-{LONGEST_DESCRIPTION} characters")
    fences = MARKER.findall(re.sub(r"^>.*$", "", text, flags=re.MULTILINE))
    if fences and (fences != [MOMENTUM_BEGIN, MOMENTUM_END] or not MOMENTUM.search(text)):
        raise DataError(
            f"{name}: momentum markers must be one pair: {MOMENTUM_BEGIN} … {MOMENTUM_END}",
            "put each of them on a line of its own",
        )
    return Skill(slug, about, text[found.end() :])


def front_matter(text: str) -> str:
    """The text up to the body."""
    found = FRONT_MATTER.match(text)
    return found.group(0) if found else ""


def renamed(text: str, name: str) -> str:
    """The skill under another name; the rest of its front matter stays as the author wrote it."""
    head = front_matter(text)
    return re.sub(r"^name:.*$", f"name: {name}", head, count=1, flags=re.MULTILINE) + text[len(head) :]


def section(text: str, heading: str) -> tuple[int, int] | None:
    """Start and end of the lines under `heading`, up to the next heading or the momentum block.

    A heading inside the front matter, the momentum block or closed code is none.
    """
    head = len(front_matter(text))
    hidden = [m.span() for pattern in (MOMENTUM, CODE) for m in pattern.finditer(text, head)]
    headings = [m for m in HEADING.finditer(text, head) if not any(a <= m.start() < b for a, b in hidden)]
    found = next((m for m in headings if m.group().rstrip(" \t") == heading), None)
    if found is None:
        return None
    ends = [m.start() for m in headings if m.start() > found.start()]
    ends += [m.start() for m in MOMENTUM.finditer(text, found.end())]
    return found.end(), min(ends, default=len(text))


def examples(text: str) -> list[Example]:
    """Worked examples in their order."""
    place = section(text, EXAMPLES)
    blocks = BLOCK.findall(text[place[0] : place[1]]) if place else []
    return [example for block in blocks if (example := _read(block))]


def _read(block: str) -> Example | None:
    lines = [re.sub(r"^> ?", "", line) for line in block.rstrip("\n").split("\n")]
    split = next((k for k, line in enumerate(lines) if line.startswith("A: ")), None)
    if not split or not lines[0].startswith("Q: "):
        return None
    question = "\n".join([lines[0][3:], *lines[1:split]])
    answer = "\n".join([lines[split][3:], *lines[split + 1 :]])
    return Example(_unescape(question), _unescape(answer))


def authored(text: str) -> tuple[str, str]:
    """What the author wrote in the examples section before and behind its first worked example."""
    place = section(text, EXAMPLES)
    inside = text[place[0] : place[1]] if place else ""
    spans = [m.span() for m in BLOCK.finditer(inside) if _read(m.group())]
    if not spans:
        return inside.strip("\n"), ""
    ends = [start for start, _ in spans[1:]] + [len(inside)]
    rest = [inside[end:start].strip("\n") for (_, end), start in zip(spans, ends, strict=True)]
    return inside[: spans[0][0]].strip("\n"), "\n\n".join(piece for piece in rest if piece)


def with_examples(text: str, wanted: Sequence[Example]) -> str:
    """The text with exactly these worked examples; the section comes and goes with them.

    What else the author wrote in it stays before or behind the examples, as long as there are any. A
    second section of the name is no place for examples: it goes too when there are none.
    """
    blocks = [
        "\n".join([*_quoted("Q: ", example.question), *_quoted("A: ", example.answer)]) for example in wanted
    ]
    before, behind = authored(text)
    pieces = [piece for piece in (before, *blocks, behind) if piece]
    body = "\n\n" + "\n\n".join(pieces) + "\n" if blocks else ""
    place = section(text, EXAMPLES)
    if place is not None:
        start = text.rindex(EXAMPLES, 0, place[0]) if not blocks else place[0]
        front, after = text[:start], text[place[1] :]
        if not blocks:
            return with_examples(joined(front.rstrip("\n") + "\n", after), [])
        return joined(front.rstrip("\n") + body, after)
    if not blocks:
        return text
    appendix, block = section(text, APPENDIX), MOMENTUM.search(text)
    stops = [text.rindex(APPENDIX, 0, appendix[0])] if appendix else []
    stops += [block.start()] if block else []
    cut = min(stops, default=len(text))
    return joined(text[:cut].rstrip("\n") + f"\n\n{EXAMPLES}" + body, text[cut:])


def rules_text(text: str) -> str:
    """What goes into the system message: the body without the worked examples."""
    return with_examples(text, [])[len(front_matter(text)) :]


def momentum(text: str) -> str:
    """Guidance in the momentum block, or an empty text."""
    found = MOMENTUM.search(text)
    return found.group(1) if found else ""


def with_momentum(text: str, guidance: str) -> str:
    """The text with this guidance in its momentum block, at the end; none when it is empty."""
    bare = MOMENTUM.sub("\n", text).rstrip("\n") + "\n"
    plain = guidance
    while MARKER.search(plain):  # a teacher may echo the markers
        plain = MARKER.sub("", plain)
    return f"{bare}\n{MOMENTUM_BEGIN}\n{plain.strip()}\n{MOMENTUM_END}\n" if plain.strip() else bare


def appendix_items(text: str) -> list[str]:
    """Bullet items of the appendix, each with the lines that follow it."""
    place = section(text, APPENDIX)
    items: list[str] = []
    for line in text[place[0] : place[1]].split("\n") if place else []:
        if line.startswith("- "):
            items.append(line[2:].strip())
        elif items and line.strip():
            items[-1] += f"\n{line.rstrip()}"
    return items


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


def joined(before: str, after: str) -> str:
    """Two parts of a text with one empty line between them; the second may be empty."""
    rest = after.strip("\n")
    return before + (f"\n{rest}\n" if rest else "")
