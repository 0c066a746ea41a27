"""Search by words: order, ties, and what nothing is found in."""

import pytest

from skillmake.search import TextIndex

TEXTS = [
    "a red ball",
    "a dog and a ball and a dog and a tree",
    "a dog sleeps",
    "",
    "a dog barks",
    "Die KÜHE.",
]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        # Of two texts with the word once the shorter is first; equals stay in order; twice counts more
        ("dog", [2, 4, 1]),
        # A word that two texts have says more than one that three have
        ("Ball, dog!", [1, 0, 2, 4]),
        ("sleeps or barks", [2, 4]),
        ("kühe", [5]),
        ("zebra", []),
        ("?!", []),
    ],
)
def test_the_best_come_first(query: str, places: list[int]) -> None:
    assert TextIndex(TEXTS).best(query, 9) == places
    assert TextIndex(TEXTS).best(query, 1) == places[:1]


def test_a_word_beside_unknown_ones_counts_alone() -> None:
    assert TextIndex(TEXTS).best("zebra sleeps", 9) == [2]


@pytest.mark.parametrize("texts", [[], [""], ["", " .,"]])
def test_texts_without_a_word(texts: list[str]) -> None:
    assert TextIndex(texts).best("dog", 3) == []
