"""Search of texts by words: BM25 as Lucene has it (Robertson and Zaragoza 2009), from the library bm25s."""

import re
from collections.abc import Sequence
from typing import Any

DIGITS = 6  # of a score that count: what differs behind them is rounding, and the order of texts decides


class TextIndex:
    """`texts` made ready for searches; words are runs of letters and digits, upper case is lower case."""

    def __init__(self, texts: Sequence[str]) -> None:
        words = [_words(text) for text in texts]
        self._known = {word for found in words for word in found}
        self._ranking: Any = None
        if self._known:
            # Half a second that only an agent who searches waits for
            import bm25s

            self._ranking = bm25s.BM25(method="lucene")
            self._ranking.index(words, show_progress=False)

    def best(self, query: str, most: int) -> list[int]:
        """Places of at most `most` texts with a word of `query`, best first; of equals the earlier one."""
        asked = [word for word in _words(query) if word in self._known]
        if not asked:
            return []
        scores = [round(float(score), DIGITS) for score in self._ranking.get_scores(asked)]
        found = [place for place, score in enumerate(scores) if score > 0]
        return sorted(found, key=lambda place: (-scores[place], place))[:most]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
