"""Ranking by the teacher when it proposed more edits than the budget (SPEC §5)."""

from collections.abc import Sequence

from skillmake.edits import Edit
from skillmake.evolve import Assignment
from skillmake.structured import Answer, Ask, Asker, Got


class Ranking(Answer):
    """Numbers of the edits as listed, counted from 1, the best first."""

    order: tuple[int, ...]


def rank_edits(asker: Asker, assignment: Assignment, edits: Sequence[Edit]) -> Got[Ranking]:
    """The teacher's order of its own edits, every one exactly once; one repair try."""

    def check(answer: Ranking) -> str:
        numbers = list(range(1, len(edits) + 1))
        return "" if sorted(answer.order) == numbers else f"order: name each of {numbers} once"

    prompt = asker.prompt("rank.md", assignment=assignment, edits=edits)
    return asker.ask([Ask(prompt, Ranking, check)])[0]
