"""The exemplar teacher: worked examples and label hints from the pack, without a model (SPEC §5).

Deterministic. Its moves take turns: the number of edits rejected since the last accept picks the next,
so that what failed is not proposed again.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from skillmake.edits import Edit
from skillmake.evolve import Assignment, Proposal, same_edits
from skillmake.packs import Case
from skillmake.similarity import Vector, tfidf, typicality
from skillmake.skilltext import Example, examples
from skillmake.units import seeded

HINT_WORDS = 4


class ExemplarTeacher:
    """Proposes adding, swapping and dropping worked examples, and label hints."""

    def propose(self, assignment: Assignment) -> Proposal:
        shown = examples(assignment.skill)
        cases = distinct_cases(assignment.pack.editable)
        if not shown:
            return _proposal(cold_set(cases, assignment.budget, assignment.seed))
        moves: list[Callable[[], list[Edit]]] = [
            lambda: add_missed(shown, cases, assignment.budget, assignment.seed),
            lambda: redraw(shown, cases, assignment.budget, assignment.seed),
            lambda: swap_misleading(shown, cases, assignment.budget),
            lambda: hint(cases),
        ]
        first = len(assignment.rejected)
        for turn in range(len(moves)):
            edits = moves[(first + turn) % len(moves)]()
            if edits and not _rejected_before(edits, assignment):
                return _proposal(edits)
        return Proposal(nothing="every move was tried or has no case to draw on")


def distinct_cases(cases: Sequence[Case]) -> list[Case]:
    """Cases with different messages (a twin pair shows its message once), sorted by id."""
    seen: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: case.question_id):
        seen.setdefault(case.question, case)
    return list(seen.values())


def cold_set(cases: Sequence[Case], budget: int, seed: tuple[object, ...]) -> list[Edit]:
    """A balanced set: the most typical cases of each answer, dealt in rounds.

    A round holds one case of each answer in seeded order, and the most typical cases come last: a small
    model leans towards the answers it saw last, and rounds give none of them the last word.
    """
    ranked = by_typicality(cases)
    rounds = max(1, budget // max(1, len(ranked)))
    order = seeded("exemplars", *seed)
    chosen: list[Case] = []
    for rank in reversed(range(rounds)):
        labels = sorted(ranked)
        order.shuffle(labels)
        chosen += [ranked[label][rank] for label in labels if rank < len(ranked[label])]
    return [_example(case, "typical of its answer") for case in chosen[-budget:]]


def redraw(
    shown: Sequence[Example], cases: Sequence[Case], budget: int, seed: tuple[object, ...]
) -> list[Edit]:
    """Exchange worked examples one for one by other cases of the same answer, least typical first."""
    ranked = by_typicality(cases)
    used = {example.question for example in shown}
    order = list(shown)
    seeded("redraw", *seed).shuffle(order)
    edits = []
    for example in order[:budget]:
        fresh = [case for case in ranked.get(example.answer, []) if case.question not in used]
        if fresh:
            used.add(fresh[0].question)
            edits.append(_swap(example, fresh[0], "a more typical case of the same answer"))
    return edits


def add_missed(
    shown: Sequence[Example], cases: Sequence[Case], budget: int, seed: tuple[object, ...]
) -> list[Edit]:
    """One or two more examples of each answer that was missed more often than it was over-used."""
    missed = Counter(case.answer for case in cases if not case.right)
    missed.subtract(Counter(case.prediction or "" for case in cases if not case.right))
    ranked, used = by_typicality(cases), {example.question for example in shown}
    edits: list[Edit] = []
    for label, surplus in sorted(missed.items(), key=lambda item: (-item[1], item[0])):
        fresh = [case for case in ranked.get(label, []) if case.question not in used]
        why = f"{label!r} was missed {surplus} times more than over-used"
        edits += [_example(case, why) for case in fresh[: max(0, min(2, surplus))]]
    edits = edits[:budget]
    seeded("missed", *seed).shuffle(edits)
    return edits


def swap_misleading(shown: Sequence[Example], cases: Sequence[Case], budget: int) -> list[Edit]:
    """Replace examples that lie next to failures and carry the wrong answer given there."""
    blamed: Counter[str] = Counter()
    for case in cases:
        for text in case.near[:1]:
            blamed[text] += 0 if case.right else 1
    by_text = {example.question: example for example in shown}
    failures = [case for case in cases if not case.right]
    edits, used = [], set(by_text)
    for text, count in sorted(blamed.items(), key=lambda item: (-item[1], item[0])):
        example = by_text.get(text)
        misled = [c for c in failures if c.near[:1] == (text,) and c.question not in used]
        if example is None or count == 0:
            continue
        wrong = [c for c in misled if c.prediction == example.answer and c.answer != example.answer]
        if wrong:
            used.add(wrong[0].question)
            edits.append(_swap(example, wrong[0], f"nearest example of {count} failures"))
    return edits[: max(1, min(budget, 2))]


def hint(cases: Sequence[Case]) -> list[Edit]:
    """A rule that names the words typical of the answer that is missed most."""
    missed = Counter(case.answer for case in cases if not case.right)
    if not missed:
        return []
    label = min(missed, key=lambda answer: (-missed[answer], answer))
    vectors = tfidf([case.question for case in cases])
    weights: Counter[str] = Counter()
    for case, vector in zip(cases, vectors, strict=True):
        for word, x in vector.items():
            weights[word] += x if case.answer == label else -x  # type: ignore[assignment]
    words = sorted(weights, key=lambda word: (-weights[word], word))[:HINT_WORDS]
    support = tuple(c.question_id for c in cases if c.answer == label and not c.right)
    text = f"- Messages with words like {', '.join(words)} are usually {label}."
    return [Edit(op="add", section="Rules", text=text, reason="missed most", support=support)]


def by_typicality(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """Cases of each answer, the most typical first."""
    vectors: list[Vector] = tfidf([case.question for case in cases])
    scores = typicality(vectors, [case.answer for case in cases])
    ranked: dict[str, list[tuple[float, str, Case]]] = {}
    for case, score in zip(cases, scores, strict=True):
        ranked.setdefault(case.answer, []).append((-score, case.question_id, case))
    return {
        label: [case for _, _, case in sorted(rows, key=lambda r: r[:2])] for label, rows in ranked.items()
    }


def _example(case: Case, reason: str) -> Edit:
    return Edit(
        op="example", text=case.question, answer=case.answer, reason=reason, support=(case.question_id,)
    )


def _swap(old: Example, case: Case, reason: str) -> Edit:
    return Edit(
        op="replace",
        anchor=old.question,
        text=case.question,
        answer=case.answer,
        reason=reason,
        support=(case.question_id,),
    )


def _proposal(edits: Sequence[Edit]) -> Proposal:
    return Proposal(edits=tuple(edits)) if edits else Proposal(nothing="no case to draw an example from")


def _rejected_before(edits: Sequence[Edit], assignment: Assignment) -> bool:
    return any(same_edits(edits, entry.edits) for entry in assignment.rejected)
