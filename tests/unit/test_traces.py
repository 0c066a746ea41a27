"""Evidence that was missed, soft scores and tool packs, by hand."""

import pytest

from skillmake.agent.loop import Prediction
from skillmake.agent.trace import Outcome, Step
from skillmake.diagnose import diagnose_by_rule
from skillmake.traces import missed_evidence, soft_score
from tests.scripted import texts
from tests.worlds import question, row


def step(tool: str, *nodes: str, outcome: Outcome = "found") -> Step:
    return Step(turn=1, tool=tool, arguments={}, outcome=outcome, result="", nodes=nodes)


def run(name: str, right: bool | None, *steps: Step, evidence: tuple[str, ...] = ()) -> Prediction:
    return row(name, right, f"key of {name}", steps=steps, evidence=evidence)


@pytest.mark.parametrize(
    ("right", "evidence", "missed", "soft"),
    [
        (True, ("a", "b", "c", "d"), ("b", "c", "d"), 0.625),  # (1 + 1/4) / 2
        (False, ("a", "b"), ("b",), 0.25),  # (0 + 1/2) / 2
        (False, ("a",), (), 0.5),
        (False, ("z",), ("z",), 0.0),
        (True, (), (), 1.0),
        (False, (), (), 0.0),
    ],
)
def test_missed_evidence_and_the_soft_score(
    right: bool, evidence: tuple[str, ...], missed: tuple[str, ...], soft: float
) -> None:
    found = run("q", right, step("read_node", "a"), step("search"), evidence=evidence)
    assert missed_evidence(found) == missed
    assert soft_score(found) == soft


def test_the_diagnosis_hands_on_what_was_missed_and_which_tools_were_used() -> None:
    rows = [
        run("q2", False, step("read_node", "a"), step("search"), evidence=("a", "b")),
        run("q1", True, step("search"), step("search")),
        run("q3", False, step("view", outcome="error"), step("read_node", outcome="repeated")),
        run("q4", None, step("view")),
    ]
    questions = {f"q{k}": question(f"q{k}") for k in range(1, 5)}
    found = diagnose_by_rule(rows, questions, texts())
    assert {tool: [case.question_id for case in pack.cases] for tool, pack in found.tools.items()} == {
        "read_node": ["q2"],
        "search": ["q1", "q2"],
    }
    assert [case.missed for case in found.skill["alpha"].cases] == [(), ("b",), ()]
    assert found.soft == {"q1": 1.0, "q2": 0.25, "q3": 0.0}
