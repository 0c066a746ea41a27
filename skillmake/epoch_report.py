"""What an epoch has brought, in one artefact (SPEC §7.9)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from skillmake.artifacts import Artifact
from skillmake.holdout import Holdout, HoldoutSide
from skillmake.ledger import LedgerRow
from skillmake.momentum import MomentumReport
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.scores import Score, Scores
from skillmake.slow import (
    BestReport,
    ProbationOutcome,
    ProbationReport,
    Validation,
    epochs_without_best,
)
from skillmake.state import Best, State
from skillmake.texts import Texts


class EditTally(Artifact):
    """Candidates of a type that reached the gate in an epoch, by what became of them."""

    tried: int = 0
    accepted: int = 0
    provisional: int = 0
    rejected: int = 0
    inconclusive: int = 0


class MomentumLine(Artifact):
    """What became of the momentum of one skill file."""

    status: Literal["accepted", "rejected", "skipped"]
    reason: str
    samples: int
    improved: int
    regressed: int


class PromptsLine(Artifact):
    """What became of the prompts; `verdict` is that of R2."""

    changed: tuple[str, ...]
    verdict: str
    reason: str


class MixedLine(Artifact):
    """The leader by mixed score."""

    skills: str
    prompts: str
    mixed: float
    epoch: int


class EpochReport(Artifact):
    """Scores, edits and decisions of an epoch. `measured`, `next`: digests of the version that R measured
    and of that the next epoch starts from, skills and prompts; `second`: score of R2 where it ran."""

    epoch: int
    measured: tuple[str, str]
    next: tuple[str, str]
    score: Score
    by_type: dict[str, Score]
    second: Score | None
    edits: dict[str, EditTally]
    probations: tuple[ProbationOutcome, ...]
    momentum: dict[str, MomentumLine]
    momentum_reason: str
    prompts: PromptsLine
    best: Best
    promoted: bool
    best_mixed: MixedLine | None
    epochs_without_best: int
    holdout: dict[str, HoldoutSide] | None


def edit_tallies(ledger: Iterable[LedgerRow], after_step: int) -> dict[str, EditTally]:
    """Tests of the steps behind `after_step` by type, from the run's ledger."""
    names = {
        "accept": "accepted",
        "accept_provisional": "provisional",
        "reject": "rejected",
        "inconclusive": "inconclusive",
    }
    out: dict[str, EditTally] = {}
    for row in ledger:
        if row.step > after_step:
            tally = out.get(row.task_type, EditTally())
            name = names[row.action]
            more = {"tried": tally.tried + 1, name: getattr(tally, name) + 1}
            out[row.task_type] = tally.model_copy(update=more)
    return dict(sorted(out.items()))


@dataclass(frozen=True)
class SlowFiles:
    """The artefacts of an epoch's slow update, in SPEC's order; `texts` are those of the next epoch."""

    validation: Validation
    scores: Scores
    probations: ProbationReport
    momentum: MomentumReport
    prompts: PromptsReport
    second: SecondValidation
    best: BestReport
    texts: Texts
    holdout: Holdout | None


def make_report(start: State, settled: State, files: SlowFiles) -> EpochReport:
    """The report of the epoch that began with the state `start`; `settled`: that behind its probations."""
    leader, second = files.best.by_mixed, files.second
    return EpochReport(
        epoch=settled.epoch + 1,
        measured=(files.validation.skills, files.validation.prompts),
        next=(files.texts.skills.digest, files.texts.prompts.digest),
        score=files.scores.overall,
        by_type=files.scores.by_type,
        second=second.scores and second.scores.overall,
        edits=edit_tallies(settled.ledger, start.step),
        probations=files.probations.outcomes,
        momentum=_momentum_lines(files.momentum),
        momentum_reason=files.momentum.reason,
        prompts=PromptsLine(
            changed=files.prompts.changed,
            verdict=second.verdict,
            reason=files.prompts.reason or second.reason,
        ),
        best=files.best.best,
        promoted=files.best.promoted,
        best_mixed=leader
        and MixedLine(
            skills=leader.texts.skills.digest,
            prompts=leader.texts.prompts.digest,
            mixed=leader.mixed,
            epoch=leader.epoch,
        ),
        epochs_without_best=epochs_without_best(settled, files.best),
        holdout=files.holdout.sides if files.holdout else None,
    )


def _momentum_lines(momentum: MomentumReport) -> dict[str, MomentumLine]:
    lines = {}
    for file in momentum.files:
        changes = [sample.change for sample in file.samples]
        lines[file.path] = MomentumLine(
            status=file.status,
            reason=file.reason,
            samples=len(changes),
            improved=changes.count("improved"),
            regressed=changes.count("regressed"),
        )
    return lines
