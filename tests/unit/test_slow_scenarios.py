"""Every branch of the slow update, followed through its steps (SPEC §7, 2-10)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.loop import Agent, Observation
from skillmake.benchmark import Benchmark, Split
from skillmake.candidate import Candidate
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.config.models import Evolve, Gate, Slow, Train
from skillmake.edits import Edit, EditReport
from skillmake.epoch_end import fold_momentum, fold_prompts
from skillmake.epoch_report import EditTally, SlowFiles, make_report
from skillmake.evolve import Assignment, Proposal, make_candidate
from skillmake.gate import Action, Decision, GateNumbers
from skillmake.guards import LeakGuard
from skillmake.holdout import run_holdout, sides
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import ChatRequest, ChatResponse
from skillmake.momentum import (
    Comparison,
    Guidance,
    MomentumReport,
    changed_files,
    sample_units,
    with_guidance,
    write_guidance,
)
from skillmake.momentum_run import MomentumGate, run_momentum
from skillmake.noninferiority import check_harm
from skillmake.packs import Case, Diagnosis, Pack
from skillmake.plan import make_plan
from skillmake.pools import Pools
from skillmake.prompt_evolution import PromptAssignment, PromptCandidate, evolve_prompt
from skillmake.prompts_update import (
    PromptsReport,
    SecondValidation,
    after_second,
    evolve_prompts,
    merge_packs,
    second_verdict,
)
from skillmake.rollout import Rollout
from skillmake.scores import Score, known_soft, score
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
from skillmake.texts import Texts, Version
from skillmake.units import Unit, make_units
from tests.unit.test_slow import ALPHA, BETA, SLOW, TEXTS, best, row, rows, snapshot, state
from tests.worlds import ASKED, question, units

DEFAULT = "default-strategy/SKILL.md"
HEAD = "---\nname: alpha\ndescription: Sorts.\n---\n\n"
GATE = Gate(n_max=8, rung=4, e_confirm=20, e_provisional=2, use_diagnosis=False, guard_err=0.1)


# --- 2. scores -------------------------------------------------------------------------------
def pair_and_single() -> tuple[list[Unit], Validation]:
    """u00 right; of the pair q1 is right and q2 wrong; u01 ended in an error."""
    of = [*units(2), *make_units([question(name, unit_id="pair", task_type="beta") for name in ("q1", "q2")])]
    return of, validate(TEXTS, [*rows("+!"), row("q1", True), row("q2", False)], of)


def test_without_a_diagnosis_a_half_right_pair_makes_soft_differ_from_hard() -> None:
    """Hard (1 + 0)/2, soft (1 + ½)/2, mixed ½·½ + ½·¾."""
    found = score(*reversed(pair_and_single()), diagnosed={})
    assert found.overall == Score(hard=0.5, soft=0.75, mixed=0.625)
    assert found.by_type["beta"] == Score(hard=0, soft=0.5, mixed=0.25)
    assert found.soft == {"u00": 1, "q1": 1, "q2": 0}
    assert (found.diagnosed, found.units) == (0, 2)


def test_what_a_diagnosis_has_said_of_a_question_is_its_soft_score() -> None:
    """u00 is right by luck: ⅕; q2 is nearly right: ½. Soft (⅕ + ¾)/2 = 0.475; the last diagnosis counts."""
    blank = {"method": "llm", "skill": {}, "system": Pack(), "tools": {}, "degraded": 0}
    first, last = {"u00": 0.9, "q2": 0.5}, {"u00": 0.2, "elsewhere": 1.0}
    known = known_soft([Diagnosis.model_validate({**blank, "soft": soft}) for soft in (first, last)])
    found = score(*reversed(pair_and_single()), diagnosed=known)
    assert found.overall == Score(hard=0.5, soft=0.475, mixed=0.4875)
    assert found.diagnosed == 2


# --- 3.-5. probations, best --------------------------------------------------------------------
def accepted(action: Action, edit: str, path: str = ALPHA) -> GateResult:
    numbers = GateNumbers(wins=5, losses=1, n=20, e=2.857143, delta=0.2)
    tried = Candidate(
        task_type="alpha",
        path=path,
        status="proposed",
        parent="p",
        text=f"alpha with {edit}",
        reports=(EditReport(edit=Edit(op="add", text=edit), status="applied"),),
        budget=4,
    )
    stop: Any = {"accept": "confirmed", "reject": "exhausted"}.get(action, "provisional")
    decision = Decision(action=action, stop_reason=stop, numbers=numbers, **ASKED)
    return GateResult(task_type="alpha", candidate=tried, decision=decision)


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


# --- 6. momentum -------------------------------------------------------------------------------
class Student:
    """Answers yes to question u07 or d07 if its skill has the word k07, and not the word x07."""

    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "student of test_slow_scenarios"}

    async def complete(self, request: ChatRequest) -> ChatResponse:
        words = set(str(request.messages[0]["content"]).split())
        number = re.findall(r"Is \D(\d+) so\?", str(request.messages[-1]["content"]))[0]
        return ChatResponse("yes" if f"k{number}" in words and f"x{number}" not in words else "no")

    async def close(self) -> None:
        return None


class Coach:
    """Gives the same guidance for every skill."""

    def __init__(self, text: str, nothing: str = "") -> None:
        self.answer = Guidance(text=text, nothing=nothing, calls=("c",), prompt_tokens=9)
        self.asked: list[Comparison] = []

    def guide(self, comparison: Comparison) -> Guidance:
        self.asked.append(comparison)
        return self.answer


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    client = Client(
        Student(), "student", CallCache(tmp_path), Meter(tmp_path, Caps(None, None, None), "test")
    )
    yield Agent(client, ModelConfig(provider="rehearsal"), AgentConfig())
    client.close()


def skill(*words: str) -> str:
    return HEAD + "\n".join(words) + "\n"


ALL = tuple(f"k{k:02d}" for k in range(8))
START = Texts(
    skills=Version.of({ALPHA: skill("k00"), BETA: skill("k01")}, None, "seed"), prompts=TEXTS.prompts
)
NOW = START.with_skill(ALPHA, skill(*ALL), "step 1")


def benchmark(diagnosis: int = 3, types: Sequence[str] = ("alpha", "beta")) -> Benchmark:
    """Eight validation units u00-u07 and `diagnosis` units d00, … of alpha."""
    asked = [question(f"u{k:02d}") for k in range(8)] + [question(f"d{k:02d}") for k in range(diagnosis)]
    pools = Pools(
        diagnosis=tuple(q.question_id for q in asked[8:]),
        validation=tuple(q.question_id for q in asked[:8]),
        test=(),
    )
    return Benchmark(asked, Split(pools=pools, trainable=tuple(types), dropped={}))


def run(
    agent: Agent,
    coach: Coach,
    now: Texts = NOW,
    *,
    gated: bool = True,
    margin: float = 0.0,
    on: Benchmark | None = None,
    samples: int = 12,
) -> MomentumReport:
    on = on or benchmark()
    gate = MomentumGate(agent, state(), on, GATE, margin, (1, 1)) if gated else None
    return run_momentum(
        START, now, on, agent.run, coach, gate, most_samples=samples, token_cap=4000, seed=(1, 1)
    )


def test_no_momentum_where_no_skill_has_changed(agent: Agent) -> None:
    coach = Coach("Be brief.")
    report = run(agent, coach, START)
    assert (report.reason, report.files, report.rows, coach.asked) == ("no skill file changed", (), (), [])
    assert with_guidance(START, report, 1) == START


def test_no_momentum_without_samples(agent: Agent) -> None:
    coach = Coach("Be brief.")
    (file,) = run(agent, coach, on=benchmark(diagnosis=0)).files
    assert (file.status, file.reason) == ("skipped", "no diagnosis question of its task types")
    assert coach.asked == []


def test_the_teacher_compares_the_answers_with_the_epoch_start_text_and_with_todays(agent: Agent) -> None:
    """d00 was known all along, d01 and d02 only today; beta has not changed and is not looked at."""
    coach = Coach("Be brief.")
    report = run(agent, coach, gated=False)
    (asked,) = coach.asked
    assert (asked.path, asked.task_types, asked.guidance) == (ALPHA, ("alpha",), "")
    assert asked.skill == NOW.skills.files[ALPHA]
    found = {sample.question_id: (sample.before, sample.after, sample.change) for sample in asked.samples}
    assert found == {
        "d00": ("yes", "yes", "stable_success"),
        "d01": ("no", "yes", "improved"),
        "d02": ("no", "yes", "improved"),
    }
    assert len(report.rows) == 6


def test_without_its_gate_all_guidance_becomes_one_new_version(agent: Agent) -> None:
    both = NOW.with_skill(BETA, skill("k01", "k02"), "step 2")
    asked = [question(f"u{k:02d}") for k in range(8)]
    asked += [question("d00"), question("d01", task_type="beta")]
    pools = Pools(diagnosis=("d00", "d01"), validation=tuple(q.question_id for q in asked[:8]), test=())
    on = Benchmark(asked, Split(pools=pools, trainable=("alpha", "beta"), dropped={}))
    report = run(agent, Coach("Be brief."), both, gated=False, on=on)
    after = with_guidance(both, report, 1)
    assert sorted(report.accepted) == [ALPHA, BETA]
    assert after.skills.parent == both.skills.digest
    block = "\n<!-- momentum:begin -->\nBe brief.\n<!-- momentum:end -->\n"
    assert after.skills.files == {path: text + block for path, text in both.skills.files.items()}
    (note,) = fold_momentum(state(), report, after).versions
    assert (note.digest, note.parent, note.epoch) == (after.skills.digest, both.skills.digest, 1)


def test_momentum_that_its_gate_does_not_find_worse_is_current(agent: Agent) -> None:
    """All eight units stay right: W = L = 0. What was observed of the new text is folded in."""
    report = run(agent, Coach("Be brief."))
    (file,) = report.files
    (check,) = file.checks
    assert (file.status, check.check.reason) == ("accepted", "not_worse")
    assert (check.check.numbers.wins, check.check.numbers.losses, check.check.numbers.n) == (0, 0, 8)
    after = fold_momentum(state(), report, with_guidance(NOW, report, 1))
    assert after.correctness == {r.question_id: r.observation for r in check.changed_rows}
    assert after.seen == {}


def test_momentum_that_is_shown_to_harm_leaves_the_text_as_it_was(agent: Agent) -> None:
    """All eight turn wrong: after the first rung of four e(4,0) = 6.2 ≥ 2, and the second is not paid."""
    report = run(agent, Coach(" ".join(f"x{k:02d}" for k in range(8))))
    (file,) = report.files
    (check,) = file.checks
    assert (file.status, file.reason) == ("rejected", "alpha: harmful")
    assert (check.check.numbers.e_harm, len(check.changed_rows)) == (6.2, 4)
    after = with_guidance(NOW, report, 1)
    assert after == NOW
    folded = fold_momentum(state(), report, after)
    assert folded.correctness == {r.question_id: r.observation for r in check.baseline_rows}
    assert folded.versions == ()


@pytest.mark.parametrize(("margin", "status"), [(0.0, "rejected"), (0.124, "rejected"), (0.125, "accepted")])
def test_a_net_loss_is_borne_up_to_the_margin(agent: Agent, margin: float, status: str) -> None:
    """One of eight turns wrong: e(1,0) = 1.5 < 2 shows no harm, but (L - W)/n = ⅛."""
    (file,) = run(agent, Coach("x03"), margin=margin).files
    assert file.status == status
    assert file.checks[0].check.reason == ("net_loss" if status == "rejected" else "not_worse")


def test_momentum_that_nothing_can_judge_is_rejected(agent: Agent) -> None:
    """beta has no validation unit."""
    asked = [question("d00", task_type="beta")]
    on = Benchmark(
        asked,
        Split(pools=Pools(diagnosis=("d00",), validation=(), test=()), trainable=("beta",), dropped={}),
    )
    changed = START.with_skill(BETA, skill("k01", "k02"), "step 1")
    (file,) = run(agent, Coach("Be brief."), changed, on=on).files
    assert (file.status, file.reason) == ("rejected", "beta: no_units")


def test_two_types_on_one_file_are_sampled_together_and_each_has_its_gate(agent: Agent) -> None:
    """Of the shared default skill alpha keeps its four units, beta loses all four: rejected for beta."""
    asked = [question(f"u{k:02d}", "alpha" if k < 4 else "beta") for k in range(8)]
    asked += [question("d00", "alpha"), question("d04", "beta"), question("d05", "gamma")]
    pools = Pools(
        diagnosis=("d00", "d04", "d05"), validation=tuple(q.question_id for q in asked[:8]), test=()
    )
    on = Benchmark(asked, Split(pools=pools, trainable=("alpha", "beta"), dropped={}))
    start = Texts(skills=Version.of({DEFAULT: skill("k00")}, None, "seed"), prompts=TEXTS.prompts)
    now = start.with_skill(DEFAULT, skill(*ALL), "step 1")
    coach, gate = Coach("x04 x05 x06 x07"), MomentumGate(agent, state(), on, GATE, 0.0, (1, 1))
    report = run_momentum(start, now, on, agent.run, coach, gate, most_samples=9, token_cap=4000, seed=(1, 1))
    (file,) = report.files
    assert file.task_types == ("alpha", "beta")
    assert sorted(sample.question_id for sample in file.samples) == ["d00", "d04"]
    assert [(c.task_type, c.check.reason) for c in file.checks] == [
        ("alpha", "not_worse"),
        ("beta", "harmful"),
    ]
    assert (file.status, file.reason) == ("rejected", "beta: harmful")


@pytest.mark.parametrize(
    ("coach", "cap", "reason"),
    [
        (Coach("", "teacher call failed: HTTP 500"), 4000, "teacher call failed: HTTP 500"),
        (Coach("  "), 4000, "the teacher has nothing to say"),
        (Coach("See u03."), 4000, "names the held-out question u03"),
        (Coach("Be brief."), 30, "38 tokens of 30"),
    ],
)
def test_guidance_that_cannot_be_used_is_skipped_with_the_reason(
    agent: Agent, coach: Coach, cap: int, reason: str
) -> None:
    (report,) = run(agent, Coach("x"), gated=False).files
    guard = LeakGuard([question("u03")])
    file = write_guidance(ALPHA, ("alpha",), skill("k00"), report.samples, coach, guard, cap)
    assert (file.status, file.reason, file.text) == ("skipped", reason, "")
    assert (file.calls, file.prompt_tokens) == (("c",), 9)


def test_guidance_replaces_that_of_the_epoch_before(agent: Agent) -> None:
    first = with_guidance(NOW, run(agent, Coach("Be brief."), gated=False), 1)
    coach = Coach("Be kind.")
    second = with_guidance(first, run(agent, coach, first, gated=False), 2)
    assert coach.asked[0].guidance == "Be brief."
    assert "Be kind." in second.skills.files[ALPHA]
    assert "Be brief." not in second.skills.files[ALPHA]
    (same,) = run(agent, coach, second, gated=False).files
    assert (same.status, same.reason) == ("skipped", "the guidance leaves the text as it was")


def test_samples_are_whole_units_up_to_the_number_of_questions() -> None:
    """Seven questions in four units: with at most 3 of them, never one half of a pair."""
    pairs = make_units([question(f"{pair}{m}", unit_id=pair) for pair in "wxy" for m in "12"])
    pool = [*pairs, *units(1), *units(5, "beta", "b")]
    seen = set()
    for epoch in range(20):
        chosen = sample_units(pool, ("alpha",), 3, (1, epoch))
        assert sample_units(reversed(pool), ("alpha",), 3, (1, epoch)) == chosen
        assert sum(len(unit.questions) for unit in chosen) == 3
        seen.add(tuple(sorted(unit.unit_id for unit in chosen)))
    assert seen == {("u00", "w"), ("u00", "x"), ("u00", "y")}


def test_a_file_that_went_back_to_the_epoch_start_text_has_not_changed() -> None:
    back = NOW.with_skill(ALPHA, START.skills.files[ALPHA], "rollback")
    assert changed_files(START, NOW, ("beta", "alpha")) == {ALPHA: ("alpha",)}
    assert changed_files(START, back, ("beta", "alpha")) == {}


def test_the_harm_check_reads_evidence_at_rung_ends_only() -> None:
    """Inside the first rung two losses come first, e(2,0) = 7/3 ≥ 2, but at its end there are two wins."""
    outcomes = {"u00": (1.0, 0.0), "u01": (1.0, 0.0), "u02": (0.0, 1.0), "u03": (0.0, 1.0)}
    rung = units(4)
    found = check_harm(
        [rung],
        lambda of: [outcomes[unit.unit_id][0] for unit in of],
        lambda of: [outcomes[unit.unit_id][1] for unit in of],
        GATE,
        0.0,
    )
    assert (found.accepted, found.reason) == (True, "not_worse")
    assert (found.numbers.wins, found.numbers.losses) == (2, 2)
    split = check_harm(
        [rung[:2], rung[2:]],
        lambda of: [outcomes[unit.unit_id][0] for unit in of],
        lambda of: [outcomes[unit.unit_id][1] for unit in of],
        GATE,
        0.0,
    )
    assert (split.accepted, split.reason, len(split.evidence)) == (False, "harmful", 2)


def test_too_many_errors_speak_for_nothing() -> None:
    """One error in four is more than a tenth; it is neither a win nor a loss."""
    found = check_harm([units(4)], lambda of: [1.0] * len(of), lambda _: [None, 1.0, 1.0, 1.0], GATE, 0.0)
    assert (found.accepted, found.reason) == (False, "errors")
    assert (found.numbers.errors, found.numbers.n, found.numbers.losses) == (1, 3, 0)


# --- 7. and 8. prompts, R2 -----------------------------------------------------------------------
def case(question_id: str, right: bool, prediction: str = "no") -> Case:
    return Case(
        question_id=question_id,
        unit_id=question_id,
        question=f"Is {question_id} so?",
        options=("yes", "no"),
        answer="yes",
        prediction=prediction,
        right=right,
    )


class Editor:
    """Proposes rules for every text that it is shown."""

    def __init__(self, *rules: str) -> None:
        self.rules, self.asked = rules, list[PromptAssignment]()

    def revise(self, assignment: PromptAssignment) -> Proposal:
        self.asked.append(assignment)
        edits = [Edit(op="add", section="Rules", text=f"- {rule}") for rule in self.rules]
        nothing = "" if edits else "the teacher proposed no edit"
        return Proposal(edits=tuple(edits), nothing=nothing, calls=(assignment.path,), prompt_tokens=5)


TOOLS = {"tools/search/extract.md": "Extract.\n", "tools/search/verify.md": "Verify.\n"}
WITH_TOOLS = TEXTS.with_prompts(TOOLS, "seed")


def evolved(
    editor: Editor, texts: Texts = TEXTS, *, name: str = "", cases: int = 1, budget: int = 2
) -> PromptCandidate:
    pack = Pack(cases=tuple(case(f"d{k:02d}", False) for k in range(cases)))
    return evolve_prompt(
        "tool" if name else "system",
        name or "system",
        texts,
        pack,
        budget=budget,
        teacher=editor,
        guard=LeakGuard([question("u03")]),
        config=Evolve(),
    )


def test_the_system_prompt_is_edited_within_the_budget() -> None:
    found = evolved(Editor("Be brief.", "Be kind.", "Be quick."))
    assert found.status == "proposed"
    assert found.after == {"system.md": "Answer.\n\n## Rules\n\n- Be brief.\n- Be kind.\n"}
    assert [report.status for report in found.reports] == ["applied", "applied", "over_budget"]


def test_both_texts_of_a_tool_are_edited() -> None:
    found = evolved(Editor("Be brief."), WITH_TOOLS, name="search")
    assert found.before == TOOLS
    assert found.after == {path: f"{text}\n## Rules\n\n- Be brief.\n" for path, text in TOOLS.items()}
    assert (found.calls, found.prompt_tokens) == (tuple(TOOLS), 10)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (evolved(Editor("Be brief."), cases=0), "no cases in the pack"),
        (evolved(Editor("Be brief."), name="search"), "the prompts have no text of it"),
        (evolved(Editor()), "the teacher proposed no edit"),
        (evolved(Editor("See u03.")), "no edit was applied: leak"),
    ],
)
def test_a_prompt_that_stays_says_why(found: PromptCandidate, reason: str) -> None:
    assert (found.status, found.reason) == ("skipped", reason)
    assert found.after == found.before


def diagnosis(system: Pack, **tools: Pack) -> Diagnosis:
    return Diagnosis(method="llm", skill={}, system=system, tools=tools, soft={}, degraded=0)


def test_the_packs_of_an_epoch_are_merged_and_the_last_case_of_a_question_counts() -> None:
    first = Pack(cases=(case("d01", False), case("d00", False)))
    merged = merge_packs([first, Pack(cases=(case("d01", True, "yes"),))])
    assert [(c.question_id, c.right) for c in merged.cases] == [("d00", False), ("d01", True)]
    assert [(c.answer, c.prediction, c.count) for c in merged.confusions] == [("yes", "no", 1)]


def test_all_prompts_of_an_epoch_are_one_new_version() -> None:
    packs = [Pack(cases=(case(name, False),)) for name in ("d00", "d01")]
    steps = [diagnosis(packs[0]), diagnosis(packs[1], search=packs[0])]
    seen = []

    def evolver(kind: Any, name: str, pack: Pack) -> PromptCandidate:
        seen.append((kind, name, [c.question_id for c in pack.cases]))
        return evolved(Editor("Be brief."), WITH_TOOLS, name="search" if kind == "tool" else "")

    report, after = evolve_prompts(WITH_TOOLS, steps, evolver, 2)
    assert seen == [("system", "system", ["d00", "d01"]), ("tool", "search", ["d00"])]
    assert report.changed == ("system.md", *TOOLS)
    assert (after.prompts.parent, after.prompts.source) == (WITH_TOOLS.prompts.digest, "prompts of epoch 2")
    assert after.skills == WITH_TOOLS.skills


TRIED = TEXTS.with_prompts({"system.md": "Answer well."}, "prompts of epoch 1")
CHANGED = PromptsReport(changed=("system.md",))


def second(r: str, r2: str) -> SecondValidation:
    of = units(4)
    found = validate(TRIED, [row(x.question_id, x.right, "R2") for x in rows(r2)], of)
    return second_verdict(validate(TEXTS, rows(r), of), found, score(found, of, {}), CHANGED)


@pytest.mark.parametrize(("r2", "promoted"), [("++++", True), ("+++-", False)])
def test_prompts_whose_r2_is_not_lower_are_kept(r2: str, promoted: bool) -> None:
    """R is ¾, the best ¾ too. R2 is written back and may be the best; a tie is kept but not promoted."""
    found = second("+++-", r2)
    assert found.verdict == "kept"
    texts, report = after_second(found, TEXTS, TRIED, best(0.75).model_copy(update={"promoted": False}), 1)
    assert texts == TRIED
    assert (report.promoted, report.best.accuracy) == (promoted, 1.0 if promoted else 0.75)
    assert (report.texts == TRIED) == promoted
    after = fold_prompts(state(seen={"u00": (False,)}), CHANGED, found, TRIED, units(4))
    assert after.correctness["u00"] == Observation(call="R2", right=True)
    assert after.seen["u00"] == (False, True)
    assert [(note.kind, note.digest) for note in after.versions] == [("prompts", TRIED.prompts.digest)]


def test_prompts_whose_r2_is_lower_are_reverted() -> None:
    """¾ → ½: nothing of R2 enters the state, and the report keeps what R has promoted."""
    found = second("+++-", "++--")
    assert (found.verdict, found.reason) == ("reverted", "system.md: R2 0.500 < R 0.750")
    assert found.slow_candidate is not None
    texts, report = after_second(found, TEXTS, TRIED, best(0.1), 1)
    assert (texts, report) == (TEXTS, best(0.1))
    after = fold_prompts(state(), CHANGED, found, TRIED, units(4))
    assert (after.correctness, after.seen) == ({}, {})
    assert [note.description for note in after.versions] == ["reverted: system.md: R2 0.500 < R 0.750"]


def test_a_best_that_r_has_promoted_stays_promoted_when_r2_is_no_better() -> None:
    _, report = after_second(second("+++-", "+++-"), TEXTS, TRIED, best(0.75), 1)
    assert report.promoted


# --- 9. and 10. report, held-out test, nothing accepted ---------------------------------------------
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
    made = make_report(start, after, files)
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
