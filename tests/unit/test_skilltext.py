"""A SKILL.md as text: what is checked, and what each part of it is (DESIGN §2)."""

from pathlib import Path

import pytest

from skillmake.errors import DataError
from skillmake.skilltext import (
    MOMENTUM_BEGIN,
    MOMENTUM_END,
    Example,
    appendix_items,
    estimated_tokens,
    examples,
    front_matter,
    momentum,
    parse_skill,
    rules_text,
    section,
    with_examples,
    with_momentum,
)
from skillmake.texts import read_seed

HEAD = "---\nname: billing\ndescription: Sorts bills.\n---\n"
BLOCK = f"{MOMENTUM_BEGIN}\nKeep to the rules.\n{MOMENTUM_END}\n"
FULL = f"""{HEAD}
# Billing

## Rules

- Read the amount.

## Examples

> Q: Two charges?
> A: double

> Q: No bill
> came?
> A: missing

## Appendix

- rare: a refund
- rare: a gift card

{BLOCK}"""
TWO = [Example("Two charges?", "double"), Example("No bill\ncame?", "missing")]


def test_a_skill_has_name_description_and_body() -> None:
    skill = parse_skill(HEAD + "\nBody.\n")
    assert (skill.name, skill.description, skill.body) == ("billing", "Sorts bills.", "\nBody.\n")


@pytest.mark.parametrize("body", ["", "\n", "no newline at the end", "\n---\nname: x\n---\n"])
def test_any_body_is_a_skill(body: str) -> None:
    assert parse_skill(HEAD + body).body == body
    assert front_matter(HEAD + body) == HEAD


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no front matter"),
        ("# Billing\n", "no front matter"),
        ("\n" + HEAD, "no front matter"),
        (HEAD.removesuffix("---\n"), "no front matter"),
        (HEAD.removesuffix("\n"), "no front matter"),  # the closing line is not ended
        (HEAD.replace("\n", "\r\n"), "no front matter"),
        ("---\nname: [a\n---\n", "not valid YAML"),
        ("---\n- a\n- b\n---\n", "name ''"),
        ("---\ndescription: d\n---\n", "name ''"),
        ("---\nname: Bad Name\ndescription: d\n---\n", "name 'Bad Name'"),
        ("---\nname: a--b\ndescription: d\n---\n", "name 'a--b'"),
        (f"---\nname: {'a' * 65}\ndescription: d\n---\n", "1-64"),
        ("---\nname: a\n---\n", "description must have 1-1024"),
        (f"---\nname: a\ndescription: {'d' * 1025}\n---\n", "description must have 1-1024"),
    ],
)
def test_what_is_no_skill_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(DataError, match=f"^billing/SKILL.md: .*{says}"):
        parse_skill(text, "billing/SKILL.md")


def test_the_longest_name_and_description_are_allowed() -> None:
    skill = parse_skill(f"---\nname: {'a' * 64}\ndescription: {'d' * 1024}\n---\n")
    assert (len(skill.name), len(skill.description)) == (64, 1024)


def test_the_hint_says_how_lines_must_end() -> None:
    with pytest.raises(DataError) as caught:
        parse_skill(HEAD.replace("\n", "\r\n"))
    assert "line feed" in caught.value.hint


def test_a_seed_file_with_crlf_is_read_with_line_feeds(tmp_path: Path) -> None:
    (tmp_path / "billing").mkdir()
    (tmp_path / "billing" / "SKILL.md").write_bytes(FULL.replace("\n", "\r\n").encode())
    (tmp_path / "system.md").write_bytes(b"Answer.\r\n")
    assert read_seed(tmp_path, tmp_path).skills.files == {"billing/SKILL.md": FULL}


@pytest.mark.parametrize(
    "body",
    [
        MOMENTUM_BEGIN + "\nno end\n",
        MOMENTUM_END + "\n" + MOMENTUM_BEGIN + "\n",
        BLOCK + BLOCK,
        BLOCK + "<!-- momentum:middle -->\n",
        f"{MOMENTUM_BEGIN} all in one line {MOMENTUM_END}\n",  # nothing would protect this block
    ],
)
def test_momentum_markers_must_be_one_pair_on_lines_of_their_own(body: str) -> None:
    with pytest.raises(DataError, match="momentum markers must be one pair"):
        parse_skill(HEAD + body)


def test_examples_are_read_in_their_order_over_several_lines() -> None:
    assert examples(FULL) == TWO


def test_quotes_outside_of_the_section_or_without_an_answer_are_no_examples() -> None:
    assert examples(HEAD + "\n> Q: a\n> A: b\n") == []
    assert examples(HEAD + "\n## Examples\n\n> Q: a\n\n> A: b\n\n> x\n> A: y\n") == []


def test_the_section_comes_and_goes_with_its_examples() -> None:
    bare = with_examples(FULL, [])
    assert "## Examples" not in bare
    assert "## Appendix" in bare
    assert with_examples(bare, TWO) == FULL


@pytest.mark.parametrize("wanted", [[], TWO[:1], TWO, TWO[::-1]])
def test_exactly_the_wanted_examples_are_there_and_the_rest_stays(wanted: list[Example]) -> None:
    text = with_examples(FULL, wanted)
    assert examples(text) == wanted
    assert (front_matter(text), momentum(text)) == (HEAD, "Keep to the rules.")
    assert appendix_items(text) == appendix_items(FULL)
    assert rules_text(text) == rules_text(FULL)


@pytest.mark.parametrize(
    "body", ["", "\n", "body", "body\n\n\n", "\n## Examples", "\n## Examples\n\nProse\n"]
)
def test_examples_can_be_put_into_any_body(body: str) -> None:
    text = with_examples(HEAD + body, TWO)
    assert examples(text) == TWO
    assert text.startswith(HEAD)
    assert text.endswith("> A: missing\n")


def test_an_example_keeps_lines_that_look_like_its_own_marks() -> None:
    odd = [Example("> quoted\nA: not the answer\n\\A: nor this\n\nQ: last", "A: really\n\\ and \\\\")]
    assert examples(with_examples(FULL, odd)) == odd


def test_windows_line_ends_in_an_example_become_line_feeds() -> None:
    text = with_examples(FULL, [Example("a\r\nb\rc", "yes")])
    assert examples(text) == [Example("a\nb\nc", "yes")]


def test_the_system_message_gets_the_body_without_front_matter_and_examples() -> None:
    expected = FULL.removeprefix(HEAD)
    start, end = expected.index("## Examples"), expected.index("## Appendix")
    assert rules_text(FULL) == expected[:start] + expected[end:]


def test_a_section_ends_at_the_next_heading_or_the_momentum_block() -> None:
    assert section(FULL, "## Rules") == (FULL.index("## Rules") + 8, FULL.index("## Examples"))
    place = section(FULL, "## Appendix")
    assert place is not None
    assert FULL[place[0] : place[1]] == "\n\n- rare: a refund\n- rare: a gift card"
    assert section(FULL, "## Rule") is None


def test_a_heading_in_front_matter_or_momentum_is_no_section() -> None:
    head = "---\n## Rules\nname: a\ndescription: d\n---\n"
    text = f"{head}\n{MOMENTUM_BEGIN}\n## Rules\n## Examples\n{MOMENTUM_END}\n"
    assert section(text, "## Rules") is None
    assert with_examples(text, []) == text
    assert momentum(with_examples(text, TWO)) == "## Rules\n## Examples"


def test_taking_out_the_examples_takes_out_every_section_of_them() -> None:
    section_text = "## Examples\n\n> Q: a\n> A: b\n\n"
    assert with_examples(f"{HEAD}\n{section_text}## Rules\n\n{section_text}", []) == f"{HEAD}\n## Rules\n"


def test_momentum_is_written_once_at_the_end_and_can_be_taken_out() -> None:
    plain = HEAD + "\nBody."
    once = with_momentum(plain, "  first \n")
    assert once == f"{plain}\n\n{MOMENTUM_BEGIN}\nfirst\n{MOMENTUM_END}\n"
    assert momentum(once) == "first"
    twice = with_momentum(once, "second")
    assert (momentum(twice), twice.count(MOMENTUM_BEGIN)) == ("second", 1)
    assert with_momentum(twice, " ") == plain + "\n"
    assert momentum(plain) == ""


def test_an_appendix_item_keeps_its_further_lines() -> None:
    text = (
        HEAD
        + "\n## Appendix\n\nSeldom seen.\n\n- one\n  goes on\n- two\u2028still two\n\n## Rules\n- no item\n"
    )
    assert appendix_items(text) == ["one\n  goes on", "two\u2028still two"]
    assert appendix_items(HEAD) == []


@pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2)])
def test_a_token_is_four_characters_rounded_up(length: int, tokens: int) -> None:
    assert estimated_tokens("x" * length) == tokens
