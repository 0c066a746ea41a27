"""Branches of the slow update followed through its steps: scores, probations, best, report (SPEC §7)."""

from typing import Any

from skillmake.agent.trace import Step
from skillmake.candidate import Candidate
from skillmake.config.models import Evolve, Slow
from skillmake.config.train import Train
from skillmake.edits import Edit, EditReport
from skillmake.epoch_end import fold_momentum, fold_prompts
from skillmake.epoch_report import EditTally, SlowFiles, make_report
from skillmake.evolve import Assignment, Proposal, make_candidate
from skillmake.gate import Action, Decision, GateNumbers
from skillmake.guards import LeakGuard
from skillmake.holdout import run_holdout, sides
from skillmake.momentum import (
    MomentumReport,
    with_guidance,
)
from skillmake.packs import Pack
from skillmake.plan import make_plan
from skillmake.prompts_update import (
    PromptsReport,
    SecondValidation,
    after_second,
)
from skillmake.rollout import Rollout
from skillmake.scores import Score, score
from skillmake.settle import GateResult, settle
from skillmake.slow import (
    BestReport,
    ProbationReport,
    Validation,
    choose_best,
    end_epoch,
    settle_probations,
    validate,
    write_back,
)
from skillmake.state import State
from skillmake.texts import Texts
from skillmake.units import Unit, make_units
from tests import worlds
from tests.unit.test_slow import ALPHA, BETA, SLOW, TEXTS, best, row, rows, snapshot, state
from tests.worlds import ASKED, case, question, units

DEFAULT = "default-strategy/SKILL.md"


# --- 2. scores ---
def pair_and_single() -> tuple[list[Unit], Validation]:
    """u00 right; of the pair q1 is right and q2 wrong; u01 ended in an error."""
    of = [*units(2), *make_units([question(name, unit_id="pair", task_type="beta") for name in ("q1", "q2")])]
    return of, validate(TEXTS, [*rows("+!"), row("q1", True), row("q2", False)], of)


def test_without_a_diagnosis_a_half_right_pair_makes_soft_differ_from_hard() -> None:
    """Hard (1 + 0)/2, soft (1 + ½)/2, mixed ½·½ + ½·¾."""
    found = score(*reversed(pair_and_single()), judged={})
    assert found.overall == Score(hard=0.5, soft=0.75, mixed=0.625)
    assert found.by_type["beta"] == Score(hard=0, soft=0.5, mixed=0.25)
    assert found.soft == {"u00": 1, "q1": 1, "q2": 0}
    assert (found.judged, found.units) == (0, 2)


def test_what_judges_have_said_of_a_question_is_its_soft_score() -> None:
    """q2 is nearly right: ½. Soft (1 + ¾)/2 = 0.875."""
    found = score(*reversed(pair_and_single()), judged={"q2": 0.5, "elsewhere": 1.0})
    assert found.overall == Score(hard=0.5, soft=0.875, mixed=0.6875)
    assert found.judged == 1


def test_without_judges_the_evidence_that_was_read_makes_the_soft_score() -> None:
    """u00 is right and has read one of two nodes: (1 + ½)/2; u01 is wrong and has read both: (0 + 1)/2."""
    read = [
        Step(turn=1, tool="read", arguments={}, outcome="found", result="", nodes=n)
        for n in (("a",), ("a", "b"))
    ]
    found = [
        worlds.row(f"u{k:02d}", not k, "R", steps=(step,), evidence=("a", "b")) for k, step in enumerate(read)
    ]
    assert score(validate(TEXTS, found, units(2)), units(2), {}).overall == Score(
        hard=0.5, soft=0.625, mixed=0.5625
    )


# --- 3.-5. probations, best ---
def accepted(action: Action, edit: str, path: str = ALPHA, task_type: str = "alpha") -> GateResult:
    numbers = GateNumbers(wins=5, losses=1, n=20, e=2.857143, delta=0.2)
    tried = Candidate(
        task_type=task_type,
        path=path,
        status="proposed",
        parent="p",
        text=f"{task_type} with {edit}",
        reports=(EditReport(edit=Edit(op="add", text=edit), status="applied"),),
        budget=4,
    )
    stop: Any = {"accept": "confirmed", "reject": "exhausted"}.get(action, "provisional")
    decision = Decision(action=action, stop_reason=stop, numbers=numbers, **ASKED)
    return GateResult(task_type=task_type, candidate=tried, decision=decision)


def slow_end(before: State, texts: Texts, right: str, slow: Slow = SLOW) -> tuple[State, Texts, list[str]]:
    of = units(len(right))
    r = validate(texts, rows(right), of)
    after, texts, found = settle_probations(write_back(before, r, of), texts, r, of, slow, 2)
    return after, texts, [one.outcome for one in found]


def two_accepts_on_probation(path: str = ALPHA) -> tuple[State, Texts]:
    """A provisional accept and two more of the same file; all six units were right before."""
    now, texts = state(correctness=snapshot("++++++"), step=0), TEXTS
    if path == DEFAULT:
        texts = texts.with_skill(DEFAULT, "old default", "seed")
    actions: list[Action] = ["accept_provisional", "accept", "accept_provisional"]
    for step, action in enumerate(actions, 1):
        now, texts = settle(now, texts, [accepted(action, f"edit {step}", path)], units(6), step)
    return now, texts


def test_a_rollback_takes_back_all_that_was_accepted_during_the_probation() -> None:
    between, texts = two_accepts_on_probation()
    after, back, outcomes = slow_end(between, texts, "------")
    assert outcomes == ["rolled_back"]
    assert back.skills.files == {ALPHA: "new alpha", BETA: "new beta"}
    assert after.correctness == snapshot("++++++")
    (entry,) = after.rejected["alpha"]
    assert [edit.text for edit in entry.edits] == ["edit 1", "edit 2", "edit 3"]


def test_a_rollback_leaves_what_other_types_have_learned_meanwhile() -> None:
    """Of two types on probation alpha falls from six right to none, and beta rises from none to three."""
    of = [*units(6), *units(3, "beta", "b")]
    known = {**snapshot("++++++"), **snapshot("---", "b")}
    now, texts = state(correctness=known, step=0), TEXTS
    for step, path in enumerate((ALPHA, BETA), 1):
        gated = accepted("accept_provisional", "an edit", path, path.split("/")[0])
        now, texts = settle(now, texts, [gated], of, step)
    r = validate(texts, [*rows("------"), *rows("+++", "b")], of)
    now, back, found = settle_probations(write_back(now, r, of), texts, r, of, SLOW, 2)
    assert [(one.path, one.outcome) for one in found] == [(ALPHA, "rolled_back"), (BETA, "confirmed")]
    assert back.skills.files == {ALPHA: "new alpha", BETA: "beta with an edit"}
    assert [name for name, seen in now.correctness.items() if seen.call == "R"] == ["b00", "b01", "b02"]
    assert all(seen.right for seen in now.correctness.values())
    assert (now.cooldowns, list(now.rejected), now.probations) == ({"alpha": 2}, ["alpha"], {})


def test_a_confirmed_probation_keeps_all_that_was_accepted_during_it() -> None:
    between, texts = two_accepts_on_probation()
    after, kept, outcomes = slow_end(between, texts, "++++++")
    assert (outcomes, kept, after.probations) == (["confirmed"], texts, {})
    assert kept.skills.files[ALPHA] == "alpha with edit 3"
    assert after.rejected == {}


def test_a_provisional_accept_of_the_shared_default_skill_is_never_rolled_back() -> None:
    between, texts = two_accepts_on_probation(DEFAULT)
    after, kept, outcomes = slow_end(between, texts, "------")
    assert (outcomes, kept, after.probations) == ([], texts, {})
    assert kept.skills.files[DEFAULT] == "alpha with edit 3"


def test_a_rolled_back_type_is_evolved_again_when_its_cooldown_is_over() -> None:
    """Two steps of cooldown: the candidates of two steps are skipped, the third is made."""
    now, texts, _ = slow_end(*two_accepts_on_probation(), "------")
    reasons = []
    for step in (4, 5, 6):
        pack = Pack(cases=(case("d00", False),))
        task = Assignment("alpha", texts.skill("alpha"), pack, now.rejected["alpha"], 4, ())
        cooldown = now.cooldowns.get("alpha", 0)
        made = make_candidate(task, ALPHA, Silent(), LeakGuard([]), Evolve(), cooldown)
        reasons.append(made.reason)
        now, texts = settle(now, texts, [], [], step)
    assert reasons == ["cooldown: 2 more steps", "cooldown: 1 more steps", "silent"]


class Silent:
    def propose(self, assignment: Assignment) -> Proposal:  # noqa: ARG002
        return Proposal(nothing="silent")


def test_the_best_by_mixed_score_may_be_another_version_than_the_best() -> None:
    """The first is better by hard score, the second by mixed; a tie of either changes nothing."""
    first, second, third = (TEXTS.with_skill(ALPHA, f"text {k}", "step") for k in range(3))
    half, less = (validate(TEXTS, rows(right), units(4)) for right in ("++--", "+---"))
    found = choose_best(best(0.25), half, first, 1, mixed=0.5)
    found = choose_best(found, less, second, 2, mixed=0.6)
    found = choose_best(found, half, third, 3, mixed=0.6)
    assert not found.promoted
    assert (found.texts, found.best.epoch, found.best.accuracy) == (first, 1, 0.5)
    assert found.by_mixed is not None
    assert (found.by_mixed.texts, found.by_mixed.epoch, found.by_mixed.mixed) == (second, 2, 0.6)


def test_training_stops_when_patience_epochs_in_a_row_bring_no_new_best() -> None:
    """A tie is no new best: with patience 2 the epoch after the second tie is not planned."""
    now, report, stops = state(), best(0.5), []
    for epoch, right in enumerate(("++--", "+++-", "+++-", "+++-"), 1):
        report = choose_best(report, validate(TEXTS, rows(right), units(4)), TEXTS, epoch)
        now = end_epoch(now, report, epoch, SLOW)
        train = Train(epochs=9, early_stop_patience=2, batch_size=4, min_class_per_batch=1)
        stops.append(make_plan(now, epoch + 1, units(4), train, Evolve(), 1).stop)
    assert stops == ["", "", "", "2 epochs without a new best"]


# --- 9. and 10. report, held-out test, nothing accepted ---
NOT_RUN = SecondValidation(verdict="not_run", reason="the prompts are those of R")


def test_an_epoch_in_which_nothing_was_accepted_changes_what_is_known_and_nothing_else() -> None:
    """Start: u00 right, u01 wrong. One candidate rejected, R as before; γ = ¼: p̂ = ¾·½ + ¼·1."""
    start = state(correctness=snapshot("+-"), p_hat={"u00": 0.5}, step=0)
    now, texts = settle(start, TEXTS, [accepted("reject", "edit")], units(2), 1)
    r = validate(texts, rows("+-"), units(2))
    now, texts, outcomes = settle_probations(write_back(now, r, units(2)), texts, r, units(2), SLOW, 2)
    idle, report = MomentumReport(reason="no skill file changed"), PromptsReport(reason="off")
    found = choose_best(best(0.5), r, texts, 1)
    texts, found = after_second(NOT_RUN, with_guidance(texts, idle, 1), texts, found, 1)
    now = fold_prompts(fold_momentum(now, idle, texts), report, NOT_RUN, texts, units(2))
    after = end_epoch(now, found, 1, SLOW)
    assert (texts, outcomes, after.versions) == (TEXTS, [], ())
    assert after.p_hat == {"u00": 0.625, "u01": 0.0}
    assert (after.seen, after.epochs_without_best) == ({}, 1)
    files = SlowFiles(
        r, score(r, units(2), {}), ProbationReport(outcomes=()), idle, report, NOT_RUN, found, texts, None
    )
    made = make_report(start, now, files)
    assert (made.score, made.by_type) == (Score(hard=0.5, soft=0.5, mixed=0.5), {"alpha": made.score})
    assert made.measured == made.next == (TEXTS.skills.digest, TEXTS.prompts.digest)
    assert made.edits == {"alpha": EditTally(tried=1, rejected=1)}
    assert (made.epoch, made.promoted, made.epochs_without_best) == (1, False, 1)
    assert (made.momentum_reason, made.prompts.reason, made.prompts.verdict) == (
        "no skill file changed",
        "off",
        "not_run",
    )
    assert (made.second, made.best_mixed, made.holdout) == (None, None, None)


def test_the_report_counts_the_edits_of_its_own_epoch() -> None:
    """Step 1 belongs to the epoch before."""
    now, texts = state(step=0), TEXTS
    actions: list[Action] = ["accept", "reject", "accept_provisional", "inconclusive"]
    for step, action in enumerate(actions, 1):
        now, texts = settle(now, texts, [accepted(action, f"edit {step}")], units(1), step)
    r = validate(texts, rows("+"), units(1))
    files = SlowFiles(
        r,
        score(r, units(1), {}),
        ProbationReport(outcomes=()),
        MomentumReport(reason="off"),
        PromptsReport(reason="off"),
        NOT_RUN,
        best(0.5),
        texts,
        None,
    )
    made = make_report(state(step=1), now, files)
    assert made.edits == {"alpha": EditTally(tried=3, rejected=1, provisional=1, inconclusive=1)}


def test_the_held_out_test_answers_each_distinct_version_once_and_the_seed_never() -> None:
    """The epoch's version leads by mixed score; the best is still the seed. So one run of four sides."""
    of = units(4)
    measured = TEXTS.with_skill(ALPHA, "newest", "step")
    seed_best = BestReport(best=best(0.9).best, texts=TEXTS, promoted=False)
    r = validate(measured, rows("++--"), of)
    report = choose_best(seed_best, r, measured, 1, mixed=0.5)
    asked = []

    def answer(texts: Texts) -> list[Any]:
        asked.append(texts)
        return rows("+++-")

    found = run_holdout(sides(TEXTS, measured, report), Rollout.of(TEXTS, rows("+---")), of, answer)
    assert asked == [measured]
    assert {name: side.accuracy for name, side in found.sides.items()} == {
        "baseline": 0.25,
        "best": 0.25,
        "epoch": 0.75,
        "best_mixed": 0.75,
    }
    assert {name: side.rollouts for name, side in found.sides.items()} == {
        "baseline": "data/baseline",
        "best": "data/baseline",
        "epoch": "epoch",
        "best_mixed": "epoch",
    }
    assert found.rows == tuple(rows("+++-"))
