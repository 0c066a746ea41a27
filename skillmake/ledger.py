"""The run's ledger of tests: what was asked of each, and how many false confirms that allows (SPEC §6)."""

from collections.abc import Sequence

from skillmake.artifacts import Artifact
from skillmake.config.models import Gate
from skillmake.gate import Decision


class LedgerRow(Artifact):
    """One test of the run and the evidence that was asked of it."""

    step: int
    task_type: str
    action: str
    stop_reason: str
    e: float
    confirm_at: float
    provisional_at: float


def confirm_threshold(ledger: Sequence[LedgerRow], test: int, config: Gate) -> float:
    """Evidence that confirms test number `test` (1, 2, …) of the run, known before its step begins.

    `e_lond`: test t confirms at 1/α_t with α_t = α·γ_t·(D+1), α = 1/e_confirm, γ_t = 1/(t(t+1)) and D the
    confirmations before it; the false discovery rate is at most α under any dependence (Xu & Ramdas 2024,
    "Online multiple testing with e-values"). Tests of one step run side by side, so D counts earlier steps:
    a smaller D only asks for more.
    """
    if config.control == "per_candidate":
        return config.e_confirm
    confirmed = sum(row.action == "accept" for row in ledger)
    return config.e_confirm * test * (test + 1) / (confirmed + 1)


def ledger_row(decision: Decision, task_type: str, step: int) -> LedgerRow:
    return LedgerRow(
        step=step,
        task_type=task_type,
        action=decision.action,
        stop_reason=decision.stop_reason,
        e=decision.numbers.e,
        confirm_at=decision.confirm_at,
        provisional_at=decision.provisional_at,
    )


def expected_false(ledger: Sequence[LedgerRow]) -> dict[str, float]:
    """Bounds on the expected number of false confirmations and of false accepts of any kind so far.

    By Markov, a candidate that is no better reaches evidence c with probability at most 1/c; the bounds
    add up over tests whatever their dependence.
    """
    return {
        "confirmed": round(sum(1 / row.confirm_at for row in ledger), 6),
        "accepted": round(sum(1 / min(row.confirm_at, row.provisional_at) for row in ledger), 6),
    }
