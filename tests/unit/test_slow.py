"""The slow update: validation, probations, best, p̂ (SPEC §7, steps 1-5 and 10)."""

import pytest

from skillmake.agent.loop import Observation, Prediction
from skillmake.config.models import Slow
from skillmake.edits import Edit
from skillmake.gate import GateNumbers
from skillmake.slow import (
    BestReport,
    Validation,
    choose_best,
    end_epoch,
    settle_probations,
    validate,
    write_back,
)
from skillmake.state import Best, Probation, RejectedEdit, State
from skillmake.texts import Texts, Version
from skillmake.units import Unit, make_units
from tests import worlds
from tests.worlds import question, units

ALPHA, BETA = "alpha/SKILL.md", "beta/SKILL.md"
TEXTS = Texts(
    skills=Version.of({ALPHA: "new alpha", BETA: "new beta"}, "parent", "step 4: beta"),
    prompts=Version.of({"system.md": "Answer."}, None, "seed"),
)
SLOW = Slow(e_rollback=5, e_keep=0, gamma=0.25)
EDITS = (Edit(op="add", text="one"), Edit(op="add", text="two"))


def row(question_id: str, right: bool | None, call: str = "R") -> Prediction:
    """A rollout of full validation; None is an infrastructure error."""
    return worlds.row(question_id, right, call)


def rows(right: str, prefix: str = "u") -> list[Prediction]:
    """Units u00, u01, …: `+` right, `-` wrong, `!` error."""
    outcomes = {"+": True, "-": False, "!": None}
    return [row(f"{prefix}{k:02d}", outcomes[sign]) for k, sign in enumerate(right)]


def snapshot(right: str, prefix: str = "u") -> dict[str, Observation]:
    return {
        f"{prefix}{k:02d}": Observation(call="before", right=sign == "+")
        for k, sign in enumerate(right)
        if sign != "?"
    }


def probation(right: str, path: str = ALPHA, prefix: str = "u") -> Probation:
    """`+` and `-` as above, `?` was never observed before the merge."""
    name = path.split("/")[0]
    return Probation(
        task_type=name,
        path=path,
        anchor="anchor",
        anchor_text=f"old {name}",
        snapshot=snapshot(right, prefix),
        edits=EDITS,
        opened_step=2,
    )


def best(accuracy: float, epoch: int = 0) -> BestReport:
    value = Best(skills="s", prompts="p", accuracy=accuracy, epoch=epoch)
    return BestReport(best=value, texts=TEXTS, promoted=True)


def state(**more: object) -> State:
    return State.model_validate(
        {"epoch": 0, "step": 4, "total_steps": 8, "correctness": {}, "best": best(0.5).best, **more}
    )


def full(right: str, of: list[Unit] | None = None) -> Validation:
    return validate(TEXTS, rows(right), of if of is not None else units(len(right)))


def after_r(
    before: State, right: str, cooldown: int = 3, slow: Slow = SLOW
) -> tuple[State, Texts, list[str]]:
    """Write R back and settle the probations."""
    of, r = units(len(right)), full(right)
    after, texts, found = settle_probations(write_back(before, r, of), TEXTS, r, of, slow, cooldown)
    return after, texts, [outcome.outcome for outcome in found]


def test_accuracy_counts_units_and_leaves_errors_out() -> None:
    """u00 +, u01 -, u02 error; of the pair one member is right, so the pair is wrong: 1 of 3 units."""
    twins = make_units([question(name, unit_id="pair", task_type="beta") for name in ("q1", "q2")])
    found = [*rows("+-!"), row("q1", True), row("q2", False)]
    r = validate(TEXTS, found, [*units(3), *twins])
    assert r.accuracy == 0.333333
    assert r.by_type == {"alpha": 0.5, "beta": 0.0}
    assert (r.skills, r.prompts) == (TEXTS.skills.digest, TEXTS.prompts.digest)
    assert r.rows == tuple(found)


def test_r_is_written_back_unconditionally() -> None:
    """Better, worse or the same: R replaces what was known; an error leaves it."""
    before = state(correctness=snapshot("-+-+"), seen={"u00": (False,)})
    after = write_back(before, full("+-+!"), units(4))
    known = Observation(call="before", right=True)
    new = {f"u{k:02d}": Observation(call="R", right=k != 1) for k in range(3)}
    assert after.correctness == {**new, "u03": known}
    assert after.seen == {"u00": (False, True), "u01": (False,), "u02": (True,)}


def test_a_probation_is_confirmed_when_r_shows_no_harm() -> None:
    """Two flips up, two down: the mirrored evidence e(2,2) = 1 - 2/3 + 1/5 = 8/15 < 5."""
    after, texts, outcomes = after_r(state(probations={ALPHA: probation("++--++")}), "--++++")
    assert outcomes == ["confirmed"]
    assert texts == TEXTS
    assert (after.probations, after.rejected, after.cooldowns, after.versions) == ({}, {}, {}, ())
    assert after.correctness["u00"] == Observation(call="R", right=False)


@pytest.mark.parametrize(("regressed", "outcome"), [(3, "confirmed"), (4, "rolled_back")])
def test_the_mirrored_evidence_decides(regressed: int, outcome: str) -> None:
    """e(3,0) = 15/4 = 3.75 < 5 ≤ e(4,0) = 31/5 = 6.2."""
    r = "-" * regressed + "+" * (8 - regressed)
    _, _, outcomes = after_r(state(probations={ALPHA: probation("+" * 8)}), r)
    assert outcomes == [outcome]


def test_a_rollback_restores_file_and_snapshot_and_lists_the_edits() -> None:
    """Seven regress, one improves, two stay: e(7,1) = 2·255/8 - 511/9 = 6.97 ≥ 5.

    u10 was not known before the merge, so it does not count and keeps R's outcome.
    """
    before = state(
        probations={ALPHA: probation("+++++++-+-?")},
        rejected={"beta": (RejectedEdit(edits=(), numbers=GateNumbers(), step=1, why="futile"),)},
        cooldowns={"beta": 1},
    )
    after, texts, outcomes = after_r(before, "-------++-+")
    assert outcomes == ["rolled_back"]
    assert texts.skills.files == {ALPHA: "old alpha", BETA: "new beta"}
    assert texts.skills.parent == TEXTS.skills.digest
    assert texts.prompts == TEXTS.prompts
    assert after.correctness == {**snapshot("+++++++-+-"), "u10": Observation(call="R", right=True)}
    assert after.cooldowns == {"alpha": 3, "beta": 1}
    assert after.probations == {}
    assert after.rejected["beta"] == before.rejected["beta"]
    (entry,) = after.rejected["alpha"]
    assert (entry.edits, entry.step, entry.why) == (EDITS, 4, "rolled back")
    assert (entry.numbers.wins, entry.numbers.losses, entry.numbers.n) == (1, 7, 10)
    assert entry.numbers.delta == -0.6
    (note,) = after.versions
    assert (note.digest, note.parent, note.epoch) == (texts.skills.digest, TEXTS.skills.digest, 1)


@pytest.mark.parametrize(
    ("before", "right", "lasted", "outcome"),
    [
        ("---+++", "++++++", 0, "confirmed"),  # e(3,0) = 3.75
        ("----++", "++++-+", 0, "open"),  # e(4,1) = 1.9: neither 3 nor below 1.25
        ("----++", "++++-+", 1, "open"),
        ("----++", "++++-+", 2, "rolled_back"),  # the third validation is the last
        ("---+++", "+++--+", 0, "rolled_back"),  # e(3,2) = 0.7: no harm shown, and no gain either
        ("++++++", "++++++", 0, "rolled_back"),  # nothing differs: e(0,0) = 1
        ("??????", "++++++", 0, "confirmed"),  # nothing was known before, so there is nothing to compare
    ],
)
def test_a_version_on_probation_must_keep_its_evidence(
    before: str, right: str, lasted: int, outcome: str
) -> None:
    slow = SLOW.model_copy(update={"e_keep": 3, "e_drop": 1.25, "probation_epochs": 3})
    waiting = probation(before).model_copy(update={"validations": lasted})
    after, texts, outcomes = after_r(state(probations={ALPHA: waiting}), right, slow=slow)
    assert outcomes == [outcome]
    assert [p.validations for p in after.probations.values()] == ([lasted + 1] if outcome == "open" else [])
    assert (texts == TEXTS) == (outcome != "rolled_back")


def test_a_rollback_is_added_to_what_was_rejected_before() -> None:
    earlier = RejectedEdit(edits=(), numbers=GateNumbers(), step=1, why="futile")
    before = state(probations={ALPHA: probation("+" * 6)}, rejected={"alpha": (earlier,)})
    after, _, _ = after_r(before, "-" * 6)
    assert [entry.why for entry in after.rejected["alpha"]] == ["futile", "rolled back"]


def test_no_cooldown_where_none_is_configured() -> None:
    after, _, outcomes = after_r(state(probations={ALPHA: probation("+" * 6)}), "-" * 6, cooldown=0)
    assert (outcomes, after.cooldowns) == (["rolled_back"], {})


def test_an_error_in_r_is_no_regression() -> None:
    """Of six once right, three fail and three end in an error: e(3,0) = 3.75 < 5."""
    _, _, outcomes = after_r(state(probations={ALPHA: probation("+" * 6)}), "---!!!")
    assert outcomes == ["confirmed"]


def test_a_probation_whose_units_all_ended_in_errors_goes_on() -> None:
    """The one validation that it may last is still to come."""
    slow = SLOW.model_copy(update={"e_keep": 3, "e_drop": 1.25, "probation_epochs": 1})
    before = state(probations={ALPHA: probation("+-+-")})
    after, texts, outcomes = after_r(before, "!!!!", slow=slow)
    assert (outcomes, texts, after.probations) == (["open"], TEXTS, before.probations)
    assert after.rejected == {}


def test_probations_are_settled_each_on_its_own_snapshot() -> None:
    """Alpha's six units all regress, beta's six all improve: only alpha goes back."""
    of = [*units(6), *units(6, "beta", "b")]
    r = validate(TEXTS, [*rows("------"), *rows("++++++", "b")], of)
    open_ones = {BETA: probation("------", BETA, "b"), ALPHA: probation("++++++")}
    after, texts, found = settle_probations(state(probations=open_ones), TEXTS, r, of, SLOW, 1)
    assert [(one.path, one.outcome) for one in found] == [(ALPHA, "rolled_back"), (BETA, "confirmed")]
    assert [(one.improved, one.regressed) for one in found] == [(0, 6), (6, 0)]
    assert found[0].e_harm == round(127 / 7, 6)  # e(6,0) = (2^7 - 1)/7
    assert texts.skills.files == {ALPHA: "old alpha", BETA: "new beta"}
    assert after.cooldowns == {"alpha": 1}


def test_two_rollbacks_are_two_versions_one_upon_the_other() -> None:
    of = [*units(6), *units(6, "beta", "b")]
    r = validate(TEXTS, [*rows("------"), *rows("------", "b")], of)
    open_ones = {BETA: probation("++++++", BETA, "b"), ALPHA: probation("++++++")}
    after, texts, _ = settle_probations(state(probations=open_ones), TEXTS, r, of, SLOW, 1)
    assert texts.skills.files == {ALPHA: "old alpha", BETA: "old beta"}
    first, second = after.versions
    assert (first.parent, second.parent) == (TEXTS.skills.digest, first.digest)
    assert second.digest == texts.skills.digest


def test_a_pair_flips_as_one_unit() -> None:
    """Four pairs, once right; one member of each fails now: four regressions, e(4,0) = 6.2 ≥ 5."""
    names = [f"{pair}{member}" for pair in "wxyz" for member in "12"]
    of = make_units([question(name, unit_id=name[0]) for name in names])
    seen = {name: Observation(call="before", right=True) for name in names}
    on_probation = probation("").model_copy(update={"snapshot": seen})
    r = validate(TEXTS, [row(name, name.endswith("1")) for name in names], of)
    _, _, (found,) = settle_probations(state(probations={ALPHA: on_probation}), TEXTS, r, of, SLOW, 1)
    assert (found.improved, found.regressed, found.outcome) == (0, 4, "rolled_back")


@pytest.mark.parametrize("right", ["+-", "--"])
def test_a_tie_or_less_is_not_promoted(right: str) -> None:
    previous = best(0.5)
    report = choose_best(previous, full(right), TEXTS.with_skill(ALPHA, "newest", "step"), 3)
    assert report == previous.model_copy(update={"promoted": False})


def test_a_strictly_higher_accuracy_is_the_new_best_with_the_measured_texts() -> None:
    measured = TEXTS.with_skill(ALPHA, "newest", "step")
    report = choose_best(best(0.5), full("++-"), measured, 3)
    assert report.promoted
    assert report.texts == measured
    expected = Best(
        skills=measured.skills.digest, prompts=measured.prompts.digest, accuracy=0.666667, epoch=3
    )
    assert report.best == expected


def test_p_hat_is_refreshed_and_the_accumulators_are_emptied() -> None:
    """γ = ¼. u00: ¾·0.8 + ¼·½ = 0.725; u01 is new: its mean ⅔; u02 was not seen and stays."""
    before = state(p_hat={"u00": 0.8, "u02": 0.3}, seen={"u00": (False, True), "u01": (True, True, False)})
    after = end_epoch(before, best(0.5), 1, SLOW)
    assert after.p_hat == pytest.approx({"u00": 0.725, "u01": 2 / 3, "u02": 0.3})
    assert after.seen == {}
    assert after.epoch == 1


def test_epochs_without_a_new_best_are_counted_and_start_over() -> None:
    same = best(0.5).model_copy(update={"promoted": False})
    first = end_epoch(state(), same, 1, SLOW)
    second = end_epoch(first, same, 2, SLOW)
    third = end_epoch(second, best(0.9, 3), 3, SLOW)
    assert [s.epochs_without_best for s in (first, second, third)] == [1, 2, 0]
    assert third.best == best(0.9, 3).best


def test_the_rest_of_the_state_outlives_the_epoch() -> None:
    before = state(correctness=snapshot("+-"), cooldowns={"alpha": 2}, step=4)
    after = end_epoch(before, best(0.5), 1, SLOW)
    kept = {"epoch", "best", "epochs_without_best", "p_hat", "seen"}
    assert after.model_dump(exclude=kept) == before.model_dump(exclude=kept)
