"""How the tree student reads: by the sentences of its tools' prompts."""

import pytest

from skillmake.rehearsal import habits, reading

ASKED = "Question: What does the dog carry?\n\nOptions:\n- a ball\n- a shoe\nAnswer with exactly one."
HEAD = "Node 0.1, 4-8 s, inside of 0, leaf."
CAPTION = "It rains. The dog can carry things. A ball lies there. A bird sings. The dog may carry more."
LINES = "0.1 [4-8 s, leaf] A dog\n0.2 [8-12 s, 3 children] A ball"


def read(instruction: str, result: str) -> str:
    user = f"{ASKED}\n\nTool call: read_node {{}}\n\nResult:\n{result}"
    messages = [{"role": "system", "content": instruction}, {"role": "user", "content": user}]
    assert reading.is_refining(messages)
    assert not reading.is_refining([messages[0], {"role": "user", "content": ASKED}])
    return reading.refine(messages)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("", "The dog can carry things. The dog may carry more."),
        (habits.KEEP_ALL, "The dog can carry things. A ball lies there. The dog may carry more."),
        (habits.FIRST_ONLY, "The dog can carry things."),
        (habits.KEEP_ALL + habits.HIDE_OPTIONS, "The dog can carry things. The dog may carry more."),
        (habits.PLAIN[0], "The dog can carry things. The dog may carry more."),
    ],
)
def test_what_an_extract_prompt_keeps(told: str, kept: str) -> None:
    """The first line, which names the node, stays; of the rest sentences with two words of the question."""
    assert read(f"Write down what bears on it. {told}", f"{HEAD}\n{CAPTION}") == f"{HEAD}\n{kept}"


def test_what_is_read_is_neither_the_head_nor_the_check() -> None:
    assert reading.read_text(f"{HEAD}\nIt rains. It pours.\n\nCheck: Enough.") == "It rains.\nIt pours."
    assert reading.read_text("It rains.") == "It rains."


def test_an_extract_of_nothing_says_so() -> None:
    assert read("Write.", "It rains.") == reading.NOTHING
    assert read("Write.", f"{HEAD}\nIt rains.") == HEAD


def test_lines_of_windows_are_kept_whole() -> None:
    assert read("Write.", LINES) == LINES
    assert read(habits.FIRST_ONLY, LINES) == LINES.split("\n")[0]


@pytest.mark.parametrize(
    ("told", "result", "verdict"),
    [
        ("", "The dog will carry it.", "Enough."),
        ("", "The dog barks.", "Look further."),
        (habits.NAME_MISSING, "The dog barks.", "Look further: carry."),
        (habits.NAME_MISSING, "The dog will carry it.", "Enough."),
        (habits.CALL_IT_ENOUGH, "It rains.", "Enough."),
    ],
)
def test_what_a_verify_prompt_says(told: str, result: str, verdict: str) -> None:
    assert read(f"Say in one sentence whether it is enough. {told}", f"{HEAD}\n{result}") == verdict
