"""A version measured on every question."""

import pytest

from skillmake.benchmark import Benchmark, Split
from skillmake.evaluation import evaluate, report_text, wilson
from skillmake.pools import Pools
from skillmake.rollout import Rollout
from tests.small_run import SEED
from tests.worlds import question, row


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    # By hand: (p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n) with z = 1.959964
    [(0, 0, 0.0, 1.0), (5, 10, 0.236593, 0.763407), (10, 10, 0.722467, 1.0), (0, 10, 0.0, 0.277533)],
)
def test_the_interval_of_a_share(right: int, n: int, low: float, high: float) -> None:
    assert wilson(right, n) == pytest.approx((low, high), abs=2e-6)


def test_units_are_counted_by_type_and_pool_and_those_that_failed_apart() -> None:
    questions = [
        question("d1"),
        question("v1", unit_id="v"),
        question("v2", unit_id="v"),
        question("t1", "beta"),
        question("t2", "beta"),
    ]
    pools = Pools(diagnosis=("d1",), validation=("v",), test=("t1", "t2"))
    benchmark = Benchmark(questions, Split(pools=pools, trainable=("alpha",), dropped={"beta": "few"}))
    rows = [
        row("d1", True, "1"),
        row("v1", True, "2", unit_id="v"),
        row("v2", False, "3", unit_id="v"),
        row("t1", None, "4", task_type="beta"),
        row("t2", True, "5", task_type="beta"),
    ]
    report = evaluate(Rollout.of(SEED, rows), benchmark, pools.model_dump(), "llama")

    def counts(name: str, pool: str) -> tuple[int, int, int]:
        found = (report.by_type[name] if name else report.overall)[pool]
        return found.right, found.units, found.failed

    assert list(report.by_type) == ["alpha", "beta"], "a type that is not trained is measured as well"
    assert counts("alpha", "all") == (1, 2, 0), "a pair with one wrong member is wrong"
    assert counts("beta", "all") == counts("beta", "test") == (1, 1, 1)
    assert counts("", "all") == (2, 3, 1)
    assert (counts("", "validation"), counts("beta", "validation")) == ((0, 1, 0), (0, 0, 0))
    text = report_text(report)
    assert (
        text.splitlines()[0]
        == f"Skills {SEED.skills.digest} with prompts {SEED.prompts.digest}, answered by llama"
    )
    assert "│ all" in text
    assert "1 units have no outcome" in text
    assert "- of 0" in text
