"""Settling: what each decision does to state and texts (SPEC §6, Settling)."""

from collections.abc import Sequence

import pytest

from skillmake.agent.loop import Observation, Prediction
from skillmake.candidate import Candidate
from skillmake.edits import Edit, EditReport, Status
from skillmake.errors import DataError
from skillmake.gate import Action, Decision, EvidenceRow, GateNumbers, StopReason
from skillmake.settle import GateResult, check_one_type_per_file, fold_rollout, settle
from skillmake.state import Best, RejectedEdit, State
from skillmake.texts import Texts, Version
from skillmake.units import make_units
from tests import worlds
from tests.worlds import ASKED, question, units

ALPHA, BETA, DEFAULT = "alpha/SKILL.md", "beta/SKILL.md", "default-strategy/SKILL.md"
TEXTS = Texts(
    skills=Version.of({ALPHA: "old alpha", BETA: "old beta", DEFAULT: "old default"}, None, "seed"),
    prompts=Version.of({"system.md": "Answer."}, None, "seed"),
)
NUMBERS = GateNumbers(wins=5, losses=1, n=20, e=2.857143, delta=0.2)
STOPS: dict[Action, StopReason] = {
    "accept": "confirmed",
    "accept_provisional": "provisional",
    "reject": "exhausted",
    "inconclusive": "errors",
}
NO_UNITS = units(0)


def observation(right: bool, call: str = "old") -> Observation:
    return Observation(call=call, right=right)


def row(question_id: str, right: bool | None, call: str = "new", **more: object) -> Prediction:
    """A rollout; None is an infrastructure error."""
    return worlds.row(question_id, right, call, **more)


def edit(text: str) -> Edit:
    return Edit(op="add", section="Rules", text=text)


def candidate(task_type: str, path: str, *edits: tuple[Edit, Status]) -> Candidate:
    """By default one applied edit "rule"."""
    reports = [EditReport(edit=e, status=s) for e, s in edits or [(edit("rule"), "applied")]]
    return Candidate(
        task_type=task_type,
        path=path,
        status="proposed",
        parent="p",
        text=f"new {task_type}",
        reports=tuple(reports),
        budget=4,
    )


def gate(
    action: Action | None,
    task_type: str = "alpha",
    tried: Candidate | None = None,
    baseline: Sequence[Prediction] = (),
    after: Sequence[Prediction] = (),
) -> GateResult:
    decision = action and Decision(action=action, stop_reason=STOPS[action], numbers=NUMBERS, **ASKED)
    return GateResult(
        task_type=task_type,
        candidate=tried or candidate(task_type, f"{task_type}/SKILL.md"),
        decision=decision or None,
        baseline_rows=tuple(baseline),
        candidate_rows=tuple(after),
    )


def state(**more: object) -> State:
    best = Best(skills=TEXTS.skills.digest, prompts=TEXTS.prompts.digest, accuracy=0.5, epoch=0)
    return State.model_validate(
        {"epoch": 0, "step": 0, "total_steps": 4, "correctness": {}, "best": best, **more}
    )


def rejection(text: str) -> RejectedEdit:
    return RejectedEdit(edits=(edit(text),), numbers=NUMBERS, step=1, why="futile")


def test_accept_is_a_new_version_with_that_one_file_changed() -> None:
    after, texts = settle(state(), TEXTS, [gate("accept")], NO_UNITS, 3)
    assert texts.skills.files == {ALPHA: "new alpha", BETA: "old beta", DEFAULT: "old default"}
    assert texts.skills.parent == TEXTS.skills.digest != texts.skills.digest
    assert texts.prompts == TEXTS.prompts
    (note,) = after.versions
    assert (note.digest, note.parent) == (texts.skills.digest, TEXTS.skills.digest)
    assert (note.source, note.epoch, note.step) == ("step 3: alpha", 1, 3)
    assert after.step == 3
    assert after.probations == {}


def test_accept_clears_the_rejected_list_of_its_type_only() -> None:
    before = state(rejected={"alpha": (rejection("a"),), "beta": (rejection("b"),)})
    after, _ = settle(before, TEXTS, [gate("accept")], NO_UNITS, 1)
    assert after.rejected == {"beta": (rejection("b"),)}


def test_accept_folds_in_what_was_observed_of_the_candidate() -> None:
    """An error leaves what was known, and so does a further draw."""
    before = state(correctness={name: observation(False) for name in ("u00", "u01", "u02", "u03")})
    rows = [row("u00", True), row("u01", None), row("u02", True, replicate=1), row("u09", True)]
    after, _ = settle(before, TEXTS, [gate("accept", after=rows)], NO_UNITS, 1)
    assert after.correctness == {
        "u00": observation(True, "new"),
        "u01": observation(False),
        "u02": observation(False),
        "u03": observation(False),
        "u09": observation(True, "new"),
    }


def test_gates_leave_p_hat_and_its_accumulators_alone() -> None:
    before = state(p_hat={"u00": 0.4}, seen={"u00": (True,)})
    gated = gate("accept", baseline=[row("u00", False)], after=[row("u00", True)])
    after, _ = settle(before, TEXTS, [gated], units(1), 1)
    assert (after.p_hat, after.seen) == (before.p_hat, before.seen)


def test_provisional_opens_a_probation_with_anchor_text_and_snapshot() -> None:
    """Snapshot: validation questions of the type, as the baseline rollouts of this gate left them."""
    validation = [*units(3), *units(1, "beta", "b")]  # u02 was never observed
    known = {name: observation(False) for name in ("u00", "u01", "b00", "diagnosis")}
    gated = gate(
        "accept_provisional",
        baseline=[row("u01", True, "baseline")],
        after=[row("u00", True), row("u01", False)],
    )
    after, texts = settle(state(correctness=known), TEXTS, [gated], validation, 2)
    assert list(after.probations) == [ALPHA]
    probation = after.probations[ALPHA]
    assert (probation.task_type, probation.path, probation.opened_step) == ("alpha", ALPHA, 2)
    assert (probation.anchor, probation.anchor_text) == (TEXTS.skills.digest, "old alpha")
    assert probation.snapshot == {"u00": observation(False), "u01": observation(True, "baseline")}
    assert probation.edits == (edit("rule"),)
    assert texts.skills.files[ALPHA] == "new alpha"
    assert after.correctness["u00"] == observation(True, "new")


def test_the_shared_default_skill_is_never_on_probation() -> None:
    gated = gate("accept_provisional", tried=candidate("alpha", DEFAULT))
    after, texts = settle(state(), TEXTS, [gated], units(2), 1)
    assert after.probations == {}
    assert texts.skills.files[DEFAULT] == "new alpha"


@pytest.mark.parametrize("second", ["accept", "accept_provisional"])
def test_an_accept_during_a_probation_is_remembered_in_it(second: Action) -> None:
    validation = units(1)
    between, texts = settle(
        state(correctness={"u00": observation(False)}),
        TEXTS,
        [gate("accept_provisional", after=[row("u00", True)])],
        validation,
        1,
    )
    more = candidate("alpha", ALPHA, (edit("more"), "applied_fuzzy"), (edit("lost"), "ambiguous"))
    after, _ = settle(between, texts, [gate(second, tried=more)], validation, 2)
    opened = between.probations[ALPHA]
    assert after.probations == {ALPHA: opened.model_copy(update={"edits": (edit("rule"), edit("more"))})}
    assert opened.snapshot == {"u00": observation(False)}


def test_a_probation_does_not_take_in_edits_of_another_file() -> None:
    between, texts = settle(state(), TEXTS, [gate("accept_provisional")], NO_UNITS, 1)
    after, _ = settle(between, texts, [gate("accept", "beta")], NO_UNITS, 2)
    assert after.probations == between.probations


def test_reject_keeps_the_edits_really_applied_with_the_gate_numbers() -> None:
    tried = candidate(
        "alpha",
        ALPHA,
        (edit("one"), "applied"),
        (edit("two"), "over_budget"),
        (edit("three"), "applied_fuzzy"),
        (edit("four"), "target_not_found"),
    )
    before = state(rejected={"alpha": (rejection("before"),)}, correctness={"u00": observation(False)})
    after, texts = settle(before, TEXTS, [gate("reject", tried=tried, after=[row("u00", True)])], NO_UNITS, 2)
    entry = RejectedEdit(edits=(edit("one"), edit("three")), numbers=NUMBERS, step=2, why="exhausted")
    assert after.rejected == {"alpha": (rejection("before"), entry)}
    assert texts == TEXTS
    assert after.versions == ()
    assert after.correctness == before.correctness  # the candidate's text is not the current one


def test_inconclusive_is_neither_accepted_nor_put_on_the_rejected_list() -> None:
    before = state(rejected={"alpha": (rejection("before"),)})
    after, texts = settle(before, TEXTS, [gate("inconclusive", after=[row("u00", True)])], NO_UNITS, 1)
    assert texts == TEXTS
    assert after == before.model_copy(update={"step": 1, "ledger": after.ledger})
    assert [(row.task_type, row.action, row.step) for row in after.ledger] == [("alpha", "inconclusive", 1)]


def test_a_carried_candidate_goes_on_without_the_units_that_judged_it() -> None:
    tried = candidate("alpha", ALPHA).model_copy(update={"pack_units": ("u09",), "calls": ("paid",)})
    close = gate("inconclusive", tried=tried)
    assert close.decision is not None
    evidence = [
        EvidenceRow(unit_id=name, rung=0, position=k, baseline=0, candidate=1, outcome="win")
        for k, name in enumerate(("u03", "u01"))
    ]
    decision = close.decision.model_copy(update={"stop_reason": "carried", "evidence": tuple(evidence)})
    carried = close.model_copy(update={"decision": decision})
    after, texts = settle(state(), TEXTS, [carried], NO_UNITS, 1)
    assert (texts, after.rejected) == (TEXTS, {})
    waiting = after.carried["alpha"]
    assert waiting.pack_units == ("u01", "u03", "u09")
    assert (waiting.prior.wins, waiting.prior.losses, waiting.prior.n) == (
        NUMBERS.wins,
        NUMBERS.losses,
        NUMBERS.n,
    )
    assert (waiting.steps_carried, waiting.calls) == (1, ())  # its calls are paid and counted already
    # Whatever the next gate says, it waits no more; an untried type keeps its own
    later, _ = settle(after, TEXTS, [gate("reject", tried=waiting)], NO_UNITS, 2)
    assert later.carried == {}
    untouched, _ = settle(after, TEXTS, [gate("reject", "beta")], NO_UNITS, 2)
    assert untouched.carried == after.carried


@pytest.mark.parametrize("action", ["accept", "accept_provisional", "reject", "inconclusive"])
def test_baseline_rollouts_of_every_gate_are_folded_in(action: Action) -> None:
    gated = gate(action, baseline=[row("u00", True, "baseline"), row("u01", None)])
    after, _ = settle(state(), TEXTS, [gated], NO_UNITS, 1)
    assert after.correctness == {"u00": observation(True, "baseline")}


def test_a_skipped_candidate_changes_nothing() -> None:
    after, texts = settle(state(), TEXTS, [gate(None)], NO_UNITS, 1)
    assert (after, texts) == (state(step=1), TEXTS)


def test_cooldowns_count_down_each_step_until_they_are_gone() -> None:
    first, _ = settle(state(cooldowns={"alpha": 2, "beta": 1}), TEXTS, [], NO_UNITS, 1)
    second, _ = settle(first, TEXTS, [], NO_UNITS, 2)
    assert (first.cooldowns, second.cooldowns) == ({"alpha": 1}, {})


def test_types_are_settled_in_alphabetical_order_whatever_order_they_come_in() -> None:
    gates = [gate("accept_provisional", "beta"), gate("accept", "alpha")]
    after, texts = settle(state(), TEXTS, gates, NO_UNITS, 1)
    assert [note.source for note in after.versions] == ["step 1: alpha", "step 1: beta"]
    first, second = after.versions
    assert (first.parent, second.parent) == (TEXTS.skills.digest, first.digest)
    # The anchor of beta is the version that alpha's accept has just made.
    assert after.probations[BETA].anchor == first.digest
    assert texts.skills.files == {ALPHA: "new alpha", BETA: "new beta", DEFAULT: "old default"}
    assert settle(state(), TEXTS, gates[::-1], NO_UNITS, 1) == (after, texts)


def test_two_types_on_one_skill_file_are_refused() -> None:
    with pytest.raises(DataError, match=r"'delta' and 'gamma' both use .*default-strategy/SKILL\.md"):
        check_one_type_per_file(["gamma", "alpha", "delta"], TEXTS)


def test_one_type_on_the_shared_file_is_fine() -> None:
    check_one_type_per_file(["beta", "gamma", "alpha"], TEXTS)


def test_a_step_rollout_is_folded_by_question_and_by_whole_unit() -> None:
    """The pair's second member failed for good, so the pair has no outcome, but q1 has."""
    twins = make_units([question("q1", unit_id="pair"), question("q2", unit_id="pair")])
    before = state(correctness={"q2": observation(False)}, seen={"u00": (False,)})
    rows = [row("u00", True), row("u01", False), row("q1", True), row("q2", None)]
    after = fold_rollout(before, rows, [*units(2), *twins])
    assert after.seen == {"u00": (False, True), "u01": (False,)}
    assert after.correctness == {
        "u00": observation(True, "new"),
        "u01": observation(False, "new"),
        "q1": observation(True, "new"),
        "q2": observation(False),
    }
