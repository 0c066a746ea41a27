"""What the traces of agents with tools say without a judge: evidence that was missed (SPEC §4)."""

from collections.abc import Iterable, Mapping

from skillmake.agent.loop import Prediction
from skillmake.packs import Case, Pack


def missed_evidence(row: Prediction) -> tuple[str, ...]:
    """Nodes that hold the answer and were not read whole, in order of time; empty where none are known."""
    read = {node for step in row.steps for node in step.nodes}
    return tuple(node for node in row.evidence if node not in read)


def found_share(row: Prediction) -> float | None:
    """Share of the nodes that hold the answer that was read whole; None where none are known."""
    return 1 - len(missed_evidence(row)) / len(row.evidence) if row.evidence else None


def soft_score(row: Prediction) -> float:
    """In [0, 1]: right or wrong; where evidence is known, its mean with the share of it that was read."""
    hard, found = float(row.right is True), found_share(row)
    return hard if found is None else (hard + found) / 2


def tool_packs(rows: Iterable[Prediction], cases: Mapping[str, Case]) -> dict[str, Pack]:
    """By tool, the cases of the runs in which it gave a result; `cases`: by question id.

    Calls that were malformed, repeated or in vain say nothing about the tool's prompts.
    """
    by_tool: dict[str, set[str]] = {}
    for row in rows:
        for step in row.steps:
            if step.outcome == "found" and row.question_id in cases:
                by_tool.setdefault(step.tool, set()).add(row.question_id)
    return {
        tool: Pack(cases=tuple(cases[name] for name in sorted(names)))
        for tool, names in sorted(by_tool.items())
    }
