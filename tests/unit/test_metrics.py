"""The numbers of a run: gain on the sealed test, edits, calls, curves."""

from collections.abc import Sequence
from dataclasses import replace

from skillmake.agent.loop import Prediction
from skillmake.benchmark import Benchmark, Split
from skillmake.candidate import Candidate
from skillmake.gate import Action, Decision, GateNumbers, StopReason
from skillmake.holdout import Holdout
from skillmake.metrics import (
    RunFiles,
    call_counts,
    curve_csv,
    edit_counts,
    gates_csv,
    run_metrics,
)
from skillmake.momentum import FileMomentum, MomentumReport, TypeCheck
from skillmake.noninferiority import HarmCheck
from skillmake.packs import Diagnosis, Judging, Pack
from skillmake.pools import Pools
from skillmake.prompt_evolution import PromptCandidate
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.rollout import Rollout
from skillmake.settle import GateResult
from skillmake.slow import BestReport, validate
from skillmake.state import Best
from skillmake.texts import Texts, Version
from tests import worlds
from tests.worlds import ASKED, question, units

TEXTS = Texts(
    skills=Version.of({"alpha/SKILL.md": "text"}, None, "seed"),
    prompts=Version.of({"system.md": "Answer."}, None, "seed"),
)


def row(question_id: str, right: bool | None, call: str = "", **more: object) -> Prediction:
    """A rollout of 10 + 2 tokens; None is an infrastructure error."""
    tokens = {"prompt_tokens": 10, "completion_tokens": 2}
    return worlds.row(question_id, right, call or question_id, **{**tokens, **more})


def candidate(*calls: str, task_type: str = "alpha") -> Candidate:
    """A candidate whose teacher took 100 + 50 tokens."""
    paid = {"prompt_tokens": 100, "completion_tokens": 50} if calls else {}
    value = {"path": "alpha/SKILL.md", "status": "proposed", "parent": "p", "text": "new", "budget": 4}
    return Candidate.model_validate({"task_type": task_type, **value, "calls": calls, **paid})


def gate(
    action: Action | None,
    reason: StopReason = "exhausted",
    numbers: GateNumbers | None = None,
    *,
    tried: Candidate | None = None,
    baseline: Sequence[Prediction] = (),
    after: Sequence[Prediction] = (),
) -> GateResult:
    decision = action and Decision(
        action=action, stop_reason=reason, numbers=numbers or GateNumbers(), **ASKED
    )
    tried = tried or candidate()
    return GateResult(
        task_type=tried.task_type,
        candidate=tried,
        decision=decision or None,
        baseline_rows=tuple(baseline),
        candidate_rows=tuple(after),
    )


def test_edits_are_counted_by_what_became_of_them() -> None:
    actions: list[Action | None] = ["accept", "reject", None, "accept_provisional", "reject", "inconclusive"]
    assert edit_counts([gate(action) for action in [*actions, None]]) == {
        "tried": 5,
        "accepted": 1,
        "provisional": 1,
        "rejected": 2,
        "inconclusive": 1,
        "skipped": 2,
    }


def test_a_call_counts_once_however_often_its_key_is_used() -> None:
    """a and b are paid, the second a is a hit and what was looked up is one: 2 calls, 2 hits."""
    rows = [row("u00", True, "a"), row("u01", True, "b"), row("u00", True, "a")]
    rows.append(row("u02", True, "z", looked_up=True, prompt_tokens=0, completion_tokens=0))
    found = call_counts(rows, [])
    assert found["calls"] == {"student": 2, "teacher": 0, "judge": 0, "cache_hits": 2}
    assert found["tokens"] == {"prompt": 20, "completion": 4}


def test_teacher_calls_are_counted_by_role_with_their_tokens() -> None:
    """Two calls (an answer and its repair) of one candidate; the exemplar teacher's has none."""
    found = call_counts([row("u00", True, "a")], [candidate("t1", "t2"), candidate(), candidate("t1", "t2")])
    assert found["calls"] == {"student": 1, "teacher": 2, "judge": 0, "cache_hits": 2}
    assert found["tokens"] == {"prompt": 110, "completion": 52}


def test_judge_calls_are_counted_from_the_diagnoses() -> None:
    """q1 takes 7 calls and q2 2, of which one is q1's: 8 calls, 1 hit. The same diagnosis again: 9 hits."""
    seven = Judging(calls=tuple("abcdefg"), prompt_tokens=70, completion_tokens=14)
    two = Judging(calls=("g", "h"), prompt_tokens=5, completion_tokens=1, degraded="bias: cut off")
    judgings = {"q1": seven, "q2": two}
    found = Diagnosis(
        method="judges", skill={}, system=Pack(), tools={}, soft={}, degraded=1, judgings=judgings
    )
    judged = [*found.judgings.values()] * 2
    counted = call_counts([row("u00", True, "a student's")], [], judged)
    assert counted["calls"] == {"student": 1, "teacher": 0, "judge": 8, "cache_hits": 10}
    assert counted["tokens"] == {"prompt": 85, "completion": 17}


def run_files() -> RunFiles:
    """Two validation units, one test unit; one step with one accepted and one skipped candidate."""
    validation = [row("v00", True), row("v01", False)]
    numbers = GateNumbers(wins=7, losses=1, n=30, e=6.972222, delta=0.2)
    gates = [
        gate(None),
        gate(
            "accept_provisional",
            "provisional",
            numbers,
            tried=candidate("t1", task_type="Beta Two"),
            baseline=[row("v00", True)],
            after=[row("v00", True, "new v00")],
        ),
        gate("reject", "futile", GateNumbers(losses=2, n=9, e=0.333333, delta=-0.222222)),
    ]
    of = units(2, prefix="v")
    return RunFiles(
        baseline=Rollout.of(TEXTS, [*validation, row("t00", False)]),
        rollouts=[Rollout.of(TEXTS, [row("d00", True)])],
        gates=gates,
        validations=[
            validate(TEXTS, [row("v00", True, "r1"), row("v01", True, "r2")], of),
            validate(TEXTS, [row("v00", True, "r3"), row("v01", None, "r4")], of),
        ],
        test=Rollout.of(TEXTS, [row("t00", True, "t00 new")]),
    )


def bench() -> Benchmark:
    questions = [question(name) for name in ("d00", "v00", "v01", "t00")]
    pools = Pools(diagnosis=("d00",), validation=("v00", "v01"), test=("t00",))
    return Benchmark(questions, Split(pools=pools, trainable=("alpha",), dropped={}))


def test_the_curve_starts_with_the_seed() -> None:
    assert curve_csv(run_files(), bench()) == "epoch,validation\n0,0.5\n1,1.0\n2,1.0\n"


def test_the_gates_table_has_one_row_per_gated_candidate() -> None:
    assert gates_csv(run_files()) == (
        "gate,task_type,action,stop_reason,wins,losses,units,e,delta\n"
        "1,beta-two,accept_provisional,provisional,7,1,30,6.972222,0.2\n"
        "2,alpha,reject,futile,0,2,9,0.333333,-0.222222\n"
    )


def test_the_tables_of_an_untrained_run_are_still_tables() -> None:
    none = RunFiles(Rollout.of(TEXTS, []), [], [], [], Rollout.of(TEXTS, []))
    assert gates_csv(none).count("\n") == 1
    assert curve_csv(none, bench()) == "epoch,validation\n0,0.0\n"


def test_metrics_of_a_run() -> None:
    """Keys: baseline v00 v01 t00, step d00, gate new v00 (and v00 again), R r1 to r4, test: 10 distinct."""
    best = Best(skills="s", prompts="p", accuracy=1.0, epoch=1)
    report = BestReport(best=best, texts=TEXTS, promoted=True)
    found = run_metrics("main", run_files(), report, bench(), 1)
    assert found["validation"] == {"seed": 0.5, "best": 1.0, "best_epoch": 1}
    assert (found["epochs"], found["steps"]) == (2, 1)
    assert (found["test"]["gain"], found["test"]["units"]) == (1.0, 1)
    assert found["calls"] == {"student": 10, "teacher": 1, "judge": 0, "cache_hits": 1}
    assert found["edits"]["tried"] == 2


def test_calls_of_the_slow_update_count_like_all_others() -> None:
    """Momentum: samples m1 m2, gate m2 (a hit) m3; R2 r9; held-out h1: five calls. Teachers: t8 and t9."""
    numbers = GateNumbers()
    check = TypeCheck(
        task_type="alpha",
        check=HarmCheck(accepted=True, reason="not_worse", numbers=numbers, harm_at=2, margin=0),
        baseline_rows=(row("v00", True, "m2"),),
        changed_rows=(row("v00", True, "m3"),),
    )
    paid = {"calls": ("t8",), "prompt_tokens": 100, "completion_tokens": 50}
    file = FileMomentum.model_validate(
        {"path": "p", "task_types": ("alpha",), "status": "accepted", "checks": (check,), **paid}
    )
    prompt = PromptCandidate.model_validate(
        {
            "kind": "system",
            "name": "system",
            "status": "proposed",
            "before": {},
            "after": {},
            "calls": ("t9",),
        }
    )
    r2 = validate(TEXTS, [row("v00", True, "r9")], units(1, prefix="v"))
    before = run_files()
    files = replace(
        before,
        momenta=[MomentumReport(files=(file,), rows=(row("d00", True, "m1"), row("d00", True, "m2")))],
        prompts=[PromptsReport(candidates=(prompt,))],
        seconds=[
            SecondValidation(verdict="reverted", reason="", slow_candidate=r2),
            SecondValidation(verdict="not_run", reason=""),
        ],
        holdouts=[Holdout(sides={}, rows=(row("t00", True, "h1"),))],
    )
    old, new = (call_counts(each.rows(), each.taught()) for each in (before, files))
    more = {name: new["calls"][name] - old["calls"][name] for name in new["calls"]}
    assert more == {"student": 5, "teacher": 2, "judge": 0, "cache_hits": 1}
    assert new["tokens"]["prompt"] - old["tokens"]["prompt"] == 5 * 10 + 100
    assert new["tokens"]["completion"] - old["tokens"]["completion"] == 5 * 2 + 50
