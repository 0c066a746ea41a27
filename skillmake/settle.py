"""Settling: the gates' decisions become the next state and texts, in alphabetical order (SPEC §6)."""

from collections.abc import Mapping, Sequence

from skillmake.agent.loop import Observation, Prediction
from skillmake.artifacts import Artifact
from skillmake.candidate import Candidate
from skillmake.errors import DataError
from skillmake.gate import Decision, Tally
from skillmake.ledger import ledger_row
from skillmake.state import Probation, RejectedEdit, State, VersionNote, observe, outcomes_by_unit
from skillmake.texts import Texts, Version, is_default
from skillmake.units import Unit


class GateResult(Artifact):
    """A gate's decision with its candidate and all rollouts of both sides; None: nothing to gate."""

    task_type: str
    candidate: Candidate
    decision: Decision | None
    baseline_rows: tuple[Prediction, ...] = ()
    candidate_rows: tuple[Prediction, ...] = ()

    @property
    def summary(self) -> str:
        """One line of progress."""
        if self.decision is None:
            return f"{self.task_type}: skipped, {self.candidate.reason}"
        n = self.decision.numbers
        return (
            f"{self.task_type}: {self.decision.action} ({self.decision.stop_reason}), "
            f"W {n.wins} L {n.losses} of {n.n}, e {n.e:.2f}"
        )


def check_one_type_per_file(task_types: Sequence[str], texts: Texts) -> None:
    """Raise DataError when two types of one step would overwrite each other's skill file (SPEC §3)."""
    owners: dict[str, str] = {}
    for task_type in sorted(task_types):
        path = texts.skill_path(task_type)
        if path in owners:
            raise DataError(
                f"task types {owners[path]!r} and {task_type!r} both use the skill file {path}",
                "give each its own file, or set data.own_skill_per_type: true",
            )
        owners[path] = task_type


def fold_rollout(state: State, rows: Sequence[Prediction], units: Sequence[Unit]) -> State:
    """A step's rollouts become part of what is known (SPEC §3)."""
    return state.model_copy(
        update={
            "correctness": observe(state.correctness, rows),
            "seen": add_seen(state.seen, outcomes_by_unit(units, rows)),
        }
    )


def add_seen(
    seen: Mapping[str, tuple[bool, ...]], outcomes: Mapping[str, bool]
) -> dict[str, tuple[bool, ...]]:
    out = dict(seen)
    for unit_id, outcome in outcomes.items():
        out[unit_id] = (*out.get(unit_id, ()), outcome)
    return out


def settle(
    state: State, texts: Texts, gates: Sequence[GateResult], validation: Sequence[Unit], step: int
) -> tuple[State, Texts]:
    """Apply each gate's decision; `step` is the 1-based number of the step in the run."""
    cooldowns = {t: n - 1 for t, n in state.cooldowns.items() if n > 1}
    state = state.model_copy(update={"cooldowns": cooldowns, "step": step})
    for gate in sorted(gates, key=lambda gate: gate.task_type):
        if gate.decision is None:
            continue
        state = _noted(state, gate, step)
        if gate.decision.action in ("accept", "accept_provisional"):
            state, texts = _accept(state, texts, gate, validation, step)
        elif gate.decision.action == "reject":
            state = _reject(state, gate, step)
    return state, texts


def _noted(state: State, gate: GateResult, step: int) -> State:
    """The test in the ledger, the baseline's outcomes folded in, a candidate that goes on kept."""
    assert gate.decision is not None
    carried = {t: candidate for t, candidate in state.carried.items() if t != gate.task_type}
    if gate.decision.stop_reason == "carried":
        carried[gate.task_type] = carry(gate.candidate, gate.decision)
    return state.model_copy(
        update={
            "ledger": (*state.ledger, ledger_row(gate.decision, gate.task_type, step)),
            "correctness": observe(state.correctness, gate.baseline_rows),
            "carried": carried,
        }
    )


def carry(candidate: Candidate, decision: Decision) -> Candidate:
    """The candidate as it goes to its next ladder: with its evidence, and without the units that gave it.

    Its counts go on where they stopped: an e-process may be continued on fresh data whatever it showed
    (optional continuation, Grünwald, de Heide & Koolen 2024, "Safe testing").
    """
    used = {row.unit_id for row in decision.evidence}
    n = decision.numbers
    return candidate.model_copy(
        update={
            "prior": Tally(wins=n.wins, losses=n.losses, n=n.n),
            "steps_carried": candidate.steps_carried + 1,
            "pack_units": tuple(sorted({*candidate.pack_units, *used})),
            "calls": (),
            "prompt_tokens": 0,
            "completion_tokens": 0,
        }
    )


def _accept(
    state: State, texts: Texts, gate: GateResult, validation: Sequence[Unit], step: int
) -> tuple[State, Texts]:
    candidate, decision = gate.candidate, gate.decision
    assert decision is not None
    probations = dict(state.probations)
    open_one = probations.get(candidate.path)
    if open_one is not None:
        edits = (*open_one.edits, *candidate.applied)
        probations[candidate.path] = open_one.model_copy(update={"edits": edits})
    elif decision.action == "accept_provisional" and not is_default(candidate.path):
        probations[candidate.path] = Probation(
            task_type=gate.task_type,
            path=candidate.path,
            anchor=texts.skills.digest,
            anchor_text=texts.skills.files[candidate.path],
            snapshot=snapshot(state, validation, gate.task_type),
            edits=candidate.applied,
            opened_step=step,
        )
    after = texts.with_skill(candidate.path, candidate.text, f"step {step}: {gate.task_type}")
    note = version_note(
        after.skills,
        state.epoch + 1,
        step,
        f"{len(candidate.applied)} edits, {decision.action}: W {decision.numbers.wins}, "
        f"L {decision.numbers.losses}, e {decision.numbers.e:.2f}",
    )
    rejected = {t: entries for t, entries in state.rejected.items() if t != gate.task_type}
    state = state.model_copy(
        update={
            "probations": probations,
            "rejected": rejected,
            "correctness": observe(state.correctness, gate.candidate_rows),
            "versions": (*state.versions, note),
        }
    )
    return state, after


def snapshot(state: State, validation: Sequence[Unit], task_type: str) -> dict[str, Observation]:
    """What is known of a type's validation questions."""
    ids = [q.question_id for unit in validation if unit.task_type == task_type for q in unit.questions]
    return {qid: state.correctness[qid] for qid in ids if qid in state.correctness}


def version_note(version: Version, epoch: int, step: int, description: str) -> VersionNote:
    return VersionNote(
        digest=version.digest,
        parent=version.parent,
        kind="skills",
        source=version.source,
        epoch=epoch,
        step=step,
        description=description,
    )


def _reject(state: State, gate: GateResult, step: int) -> State:
    decision = gate.decision
    assert decision is not None
    entry = RejectedEdit(
        edits=gate.candidate.applied, numbers=decision.numbers, step=step, why=decision.stop_reason
    )
    entries = (*state.rejected.get(gate.task_type, ()), entry)
    return state.model_copy(update={"rejected": {**state.rejected, gate.task_type: entries}})
