"""The run's ledger: thresholds of each test and the false confirms they allow."""

import pytest

from skillmake.config.models import Gate
from skillmake.gate import Decision, GateNumbers
from skillmake.ledger import LedgerRow, confirm_threshold, expected_false, ledger_row


def row_of(action: str = "reject", confirm_at: float = 20.0, provisional_at: float = 2.0) -> LedgerRow:
    return LedgerRow(
        step=1,
        task_type="alpha",
        action=action,
        stop_reason="futile",
        e=1.0,
        confirm_at=confirm_at,
        provisional_at=provisional_at,
    )


def test_per_candidate_asks_the_same_of_every_test() -> None:
    assert {confirm_threshold([row_of("accept")] * k, k + 1, Gate()) for k in range(5)} == {20.0}


@pytest.mark.parametrize(
    ("actions", "test", "expected"),
    [
        ([], 1, 40.0),  # γ_1 = 1/2, nothing confirmed
        ([], 2, 120.0),  # γ_2 = 1/6
        (["accept", "reject"], 3, 120.0),  # γ_3 = 1/12, one confirmed: 20·12/2
        (["accept", "accept_provisional", "accept"], 4, 400 / 3),  # a provisional one does not count
    ],
)
def test_e_lond_by_hand(actions: list[str], test: int, expected: float) -> None:
    config = Gate(control="e_lond")
    assert confirm_threshold([row_of(a) for a in actions], test, config) == pytest.approx(expected)


def test_the_levels_of_e_lond_add_up_to_one_over_e_confirm() -> None:
    config = Gate(control="e_lond")
    total = sum(1 / confirm_threshold([], test, config) for test in range(1, 5000))
    assert 0.0499 < total <= 0.05


def test_the_false_accepts_to_be_expected() -> None:
    """1/20 + 1/40 confirmed; 1/2 + 1/40 of any kind, where a test could be confirmed only above 1.25."""
    rows = [row_of(), row_of(confirm_at=40, provisional_at=50)]
    assert expected_false(rows) == {"confirmed": 0.075, "accepted": 0.525}
    assert expected_false([]) == {"confirmed": 0, "accepted": 0}


def test_a_row_says_what_was_asked_and_found() -> None:
    decision = Decision(
        action="accept",
        stop_reason="confirmed",
        numbers=GateNumbers(wins=7, e=31.9),
        confirm_at=30.0,
        provisional_at=2.0,
    )
    row = ledger_row(decision, "beta", 4)
    assert (row.step, row.task_type, row.action, row.e, row.confirm_at) == (4, "beta", "accept", 31.9, 30.0)
