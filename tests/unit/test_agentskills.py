"""Skill files against the published format: what it refuses, and on which line."""

import pytest

from skillmake.agentskills import check_skill
from skillmake.skilltext import MOMENTUM_BEGIN

GOOD = "---\nname: pdf\ndescription: Reads PDF files.\n---\n\n# PDF\n"


def problems(text: str, folder: str = "pdf") -> list[str]:
    return [str(problem) for problem in check_skill(text.encode(), folder)]


def head(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", ""])


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        head("name: pdf", "description: x"),
        head("description: >", "  Folded", "  text.", "name: 'pdf'"),
        head(
            "name: pdf",
            f"description: {'x' * 1024}",
            "license: MIT",
            f"compatibility: {'x' * 500}",
            "allowed-tools: Bash(git:*) Read",
            "metadata:",
            '  version: "1.0"',
        ),
        head("name: pdf", "description: x", "allowed-tools:", "  - Bash(git:*)", "  - Read"),
    ],
)
def test_what_the_format_allows_has_no_problem(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# PDF\n", "SKILL.md:1: error: no front matter"),
        (head("- a"), "SKILL.md:2: error: front matter is no mapping"),
        (head("name: pdf", "description: a: b"), "SKILL.md:3: error: front matter is not valid YAML"),
        (head("name: pdf"), "SKILL.md:1: error: description is missing"),
        (head("description: x"), "SKILL.md:1: error: name is missing"),
        (head("name: pdf", "description: x", "name: pdf"), "SKILL.md:4: error: name is there twice"),
        (head("name: 12", "description: x"), "SKILL.md:2: error: name must be a text; put it in quotes"),
        (head("name: pdf", "description:"), "SKILL.md:3: error: description must be a text"),
        (head("name: pdf", 'description: " "'), "SKILL.md:3: error: description has 0 characters, 1-1024"),
        (head("name: pdf", f"description: {'x' * 1025}"), "description has 1025 characters, 1-1024"),
        (head("name: pdf", "description: x", f"compatibility: {'x' * 501}"), ":4: error: compatibility has"),
        (head("name: pdf", "description: x", 'compatibility: ""'), "compatibility has 0 characters, 1-500"),
        (head("name: pdf", "description: x", "license: 2"), ":4: error: license must be a text"),
        (head("name: pdf", "description: x", "allowed-tools: [1]"), ":4: error: allowed-tools must be texts"),
        (head("name: pdf", "description: x", "metadata: none"), "metadata must be a mapping"),
        (GOOD.replace("\n", "\r\n"), "SKILL.md:1: error: has a carriage return"),
        ("\ufeff" + GOOD, "SKILL.md:1: error: begins with a byte order mark"),
        (f"{GOOD}{MOMENTUM_BEGIN}\n", "SKILL.md: error: momentum markers must be one pair"),
    ],
)
def test_what_breaks_the_format_is_an_error_with_its_line(text: str, says: str) -> None:
    found = problems(text)
    assert len(found) == 1
    assert says in found[0]


@pytest.mark.parametrize("name", ["PDF", "-pdf", "pdf-", "pdf--x", "pdf_x", "p df", "", "x" * 65])
def test_a_name_is_lower_case_with_single_hyphens(name: str) -> None:
    (found,) = problems(head(f'name: "{name}"', "description: x"), name)
    assert "must be 1-64 of a-z, 0-9 and single hyphens" in found


def test_a_name_is_that_of_its_folder() -> None:
    assert problems(GOOD, "pdf-files") == [
        "SKILL.md:2: error: name 'pdf' must be that of the folder, 'pdf-files': rename one of them"
    ]
    assert problems(head(f"name: {'x' * 64}", "description: x"), "x" * 64) == []


def test_what_others_may_refuse_is_only_a_warning() -> None:
    text = head("name: pdf", "description: x", "version: 1", "metadata:", "  rank: 2")
    found = problems(text + "line\n" * 501)
    assert [line.split(" is ")[0].split(" has ")[0] for line in found] == [
        "SKILL.md: warning: the body",
        "SKILL.md:4: warning: version",
        "SKILL.md:6: warning: metadata.rank",
    ]


def test_bytes_that_are_no_text_are_named() -> None:
    (found,) = check_skill(b"---\n\xff", "pdf")
    assert str(found).startswith("SKILL.md: error: not UTF-8: byte 4")
