"""The state that the next epoch starts from, behind all steps of the slow update (SPEC §7.10)."""

from collections.abc import Sequence

from skillmake.momentum import MomentumReport
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.settle import version_note
from skillmake.slow import write_back
from skillmake.state import State, VersionNote, observe
from skillmake.texts import Texts
from skillmake.units import Unit


def fold_momentum(state: State, report: MomentumReport, after: Texts) -> State:
    """Note the version that `report` has made and fold in what its gates observed of current texts.

    As at a step's gate: of an accepted text its own outcomes, of a rejected one those of the text that
    stays. p̂ does not take them in (SPEC §7.10).
    """
    correctness = state.correctness
    for file in report.files:
        for check in file.checks:
            rows = check.changed_rows if file.status == "accepted" else check.baseline_rows
            correctness = observe(correctness, rows)
    state = state.model_copy(update={"correctness": correctness})
    if not report.accepted:
        return state
    note = version_note(
        after.skills, state.epoch + 1, state.step, f"guidance in {', '.join(sorted(report.accepted))}"
    )
    return state.model_copy(update={"versions": (*state.versions, note)})


def fold_prompts(
    state: State, report: PromptsReport, second: SecondValidation, tried: Texts, units: Sequence[Unit]
) -> State:
    """Note the version of the prompts that was tried, and write R2 back where it was kept (SPEC §7.8).

    What was rejected, or came close, did so under the old prompts: with the new ones it may be tried again.
    """
    if report.changed:
        note = VersionNote(
            digest=tried.prompts.digest,
            parent=tried.prompts.parent,
            kind="prompts",
            source=tried.prompts.source,
            epoch=state.epoch + 1,
            step=state.step,
            description=f"{second.verdict}: {second.reason}",
        )
        state = state.model_copy(update={"versions": (*state.versions, note)})
    if second.kept is None:
        return state
    return write_back(state.model_copy(update={"rejected": {}, "carried": {}}), second.kept, units)
