"""Many plays side by side: each is a generator of requests, and a round asks for all of them at once.

A play depends on its own replies alone, so what is beside it changes nothing; and the order of requests, of
log lines and of results is that of the plays.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
T = TypeVar("T")
Play = Generator[Sequence[Q], Sequence[A], T]


def in_rounds(plays: Sequence[Play[Q, A, T]], ask: Callable[[Sequence[Q]], Sequence[A]]) -> list[T]:
    """Results of all plays, in their order. `ask` answers the requests of one round in their order."""
    done: dict[int, T] = {}
    waiting: dict[int, Sequence[Q]] = {}

    def advance(place: int, replies: Sequence[A] | None) -> None:
        try:
            waiting[place] = next(plays[place]) if replies is None else plays[place].send(replies)
        except StopIteration as end:
            done[place] = end.value

    for place in range(len(plays)):
        advance(place, None)
    while waiting:
        round_, waiting = waiting, {}
        replies = iter(ask([request for requests in round_.values() for request in requests]))
        for place, requests in round_.items():
            advance(place, [next(replies) for _ in requests])
    return [done[place] for place in range(len(plays))]
