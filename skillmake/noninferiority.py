"""Is a changed text shown to be worse? The gate's ladder, read for harm (SPEC §7, last paragraph)."""

from collections.abc import Sequence
from typing import Literal

from skillmake.artifacts import Artifact
from skillmake.config.models import Gate
from skillmake.evidence import e_value, shrunk_delta
from skillmake.gate import EvidenceRow, GateNumbers, evidence_row
from skillmake.rounds import Play
from skillmake.units import Unit

Reason = Literal["not_worse", "harmful", "net_loss", "errors", "no_units"]
# Of a unit under the baseline and under the changed text: share of its draws that were right, None after an
# error.
Outcomes = tuple[float | None, float | None]


class HarmCheck(Artifact):
    """What the ladder says of a text that must not be worse.

    `harm_at`: mirrored evidence that rejects; `margin`: net loss, as a share of the units, that is borne.
    """

    accepted: bool
    reason: Reason
    numbers: GateNumbers
    harm_at: float
    margin: float
    evidence: tuple[EvidenceRow, ...] = ()


def check_harm(
    ladder: Sequence[Sequence[Unit]], config: Gate, *, harm_at: float, margin: float
) -> Play[Unit, Outcomes, HarmCheck]:
    """Climb the ladder and accept the changed text unless it is shown to be worse than the baseline.

    Yields each rung that is to be rolled out and is sent the outcomes of its units, see `in_rounds`.

    With W and L counted in units as in SPEC §6, it is rejected

    - at the end of any rung where the mirrored evidence e(L, W) reaches `harm_at` (`harmful`),
    - at the ladder's end if (L - W)/n > `margin` (`net_loss`),
    - if more than `gate.guard_err` of the units ended in an error (`errors`) or none is there (`no_units`),
      for then nothing speaks for it.

    A text that is no worse (a unit that tells the two apart is a loss with probability at most ½) is called
    harmful with probability at most 1/`harm_at` (Ville's inequality, see `evidence.log_e`). The margin bears
    the churn that any new text brings. This is no proof that the text is good: one that is worse by little
    passes, and the next epoch's full validation is what finds it.
    """
    rows: list[EvidenceRow] = []
    for number, rung in enumerate(ladder):
        outcomes = yield rung
        for unit, (before, after) in zip(rung, outcomes, strict=True):
            rows.append(evidence_row(unit, number, len(rows), before, after))
        numbers = _count(rows, config)
        if numbers.e_harm >= harm_at:
            return _end(False, "harmful", rows, config, harm_at, margin)
    if not rows:
        return _end(False, "no_units", rows, config, harm_at, margin)
    numbers = _count(rows, config)
    if numbers.errors > config.guard_err * len(rows):
        return _end(False, "errors", rows, config, harm_at, margin)
    if numbers.losses - numbers.wins > margin * numbers.n:
        return _end(False, "net_loss", rows, config, harm_at, margin)
    return _end(True, "not_worse", rows, config, harm_at, margin)


def _end(
    accepted: bool, reason: Reason, rows: list[EvidenceRow], config: Gate, harm_at: float, margin: float
) -> HarmCheck:
    return HarmCheck(
        accepted=accepted,
        reason=reason,
        numbers=_count(rows, config),
        harm_at=harm_at,
        margin=margin,
        evidence=tuple(rows),
    )


def _count(rows: Sequence[EvidenceRow], config: Gate) -> GateNumbers:
    found = [row.outcome for row in rows]
    wins, losses, errors = (found.count(kind) for kind in ("win", "loss", "error"))
    n = len(rows) - errors
    return GateNumbers(
        wins=wins,
        losses=losses,
        n=n,
        errors=errors,
        e=round(e_value(wins, losses), 6),
        e_harm=round(e_value(losses, wins), 6),
        delta=round((wins - losses) / n, 6) if n else 0.0,
        delta_shrunk=round(shrunk_delta(wins, losses, n, config.lambda_dir), 6),
    )
