"""The tables of a run, against values computed by hand."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from skillmake.agent.trace import Step
from skillmake.artifacts import canonical_line, write_text
from skillmake.errors import DataError
from skillmake.rollout import Rollout
from skillmake.tables.calls import call_rows
from skillmake.tables.catalog import ROWS, dictionary, make_tables
from skillmake.tables.peers import mean_is_higher, minibatch_of_3, one_standard_error
from skillmake.tables.places import TABLES, place_of
from skillmake.tables.read import gather, read_table
from skillmake.tables.record import RunRecord, read_record
from skillmake.tables.rollouts import trace_rows
from skillmake.tables.shadow import verdicts
from tests.recorded import GATE, gated, write_run
from tests.worlds import row

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "hand"
    write_run(run)
    return run


@pytest.fixture(scope="module")
def record(folder: Path) -> RunRecord:
    return read_record(sorted(folder.rglob("*.json*")))


@pytest.fixture(scope="module")
def tables(record: RunRecord) -> dict[str, list[Row]]:
    return {name: [r.model_dump() for r in rows] for name, rows in make_tables(record, None).items()}


def cells(rows: list[Row], *names: str, **only: Any) -> list[Any]:
    """The named columns of the rows in which `only` holds; of one column its values alone."""
    chosen = [r for r in rows if all(r[name] == value for name, value in only.items())]
    return [r[names[0]] if len(names) == 1 else tuple(r[name] for name in names) for r in chosen]


def test_every_rollout_of_the_run_is_a_prediction(tables: dict[str, list[Row]], record: RunRecord) -> None:
    rows = tables["predictions"]
    assert list(Counter(cells(rows, "phase", "side")).items()) == [
        (("baseline", "current"), 16),
        (("step", "current"), 4),
        (("gate", "baseline"), 8),
        (("gate", "candidate"), 5),
        (("validation", "current"), 8),
        (("holdout", "best"), 4),
        (("final_test", "current"), 4),
    ]
    assert cells(rows, "right", "soft", phase="step") == [(False, 0.25), (True, 1), (False, 0), (None, None)]
    assert cells(rows, "soft", phase="validation", question_id="beta-v00") == [0.5]
    assert cells(rows, "pool", phase="baseline", question_id="alpha-t00") == ["test"]
    seed, after = record.seed.skills.digest, record.ends[0].measured.skills.digest
    # beta's candidate was rejected: no version has its text, yet its text has a digest
    skills = cells(rows, "skills", phase="gate", side="candidate")
    assert skills[0] == after
    assert skills[-1] not in (seed, after)


def test_a_step_says_what_became_of_each_type(tables: dict[str, list[Row]]) -> None:
    alpha, beta = tables["step_report"]
    shown = ("units", "right", "errors", "soft", "defects", "degraded", "action", "stop_reason", "asked")
    assert cells([alpha], *shown) == [(2, 1, 0, 0.625, 1, 0, "accept", "confirmed", 4)]
    assert cells([beta], *shown) == [(1, 0, 1, 0.0, 0, 1, "reject", "futile", 1)]
    assert cells([alpha], "wins", "losses", "n", "e", "delta", "e_confirm") == [(3, 0, 4, 3.75, 0.75, 3.5)]
    assert cells([alpha], "edits_proposed", "edits_applied", "teacher_calls") == [(1, 1, 1)]


def test_evidence_grows_unit_by_unit_and_is_read_at_a_rungs_end(tables: dict[str, list[Row]]) -> None:
    """e(W, 0) = (2^(W+1) - 1)/(W + 1): 3/2, 7/3, 15/4."""
    rows = cells(tables["gate_evidence"], "unit_id", "outcome", "wins", "e", "read", task_type="alpha")
    assert rows == [
        ("alpha-v00", "win", 1, 1.5, False),
        ("alpha-v01", "win", 2, 2.333333, False),
        ("alpha-v02", "win", 3, 3.75, False),
        ("alpha-v03", "tie", 3, 3.75, True),
    ]
    # the stop lies inside the rung
    assert cells(tables["gate_evidence"], "outcome", "read", task_type="beta") == [("tie", False)]


def test_a_unit_under_two_texts_is_in_one_of_four_quadrants(tables: dict[str, list[Row]]) -> None:
    def changes(compared: str) -> dict[str, int]:
        return dict(Counter(cells(tables["quadrant_pairs"], "change", compared=compared)))

    assert changes("gate") == {"improved": 3, "stable_success": 1, "persistent_fail": 1}
    assert changes("validation") == {"improved": 3, "stable_success": 3, "persistent_fail": 2}
    assert changes("final_test") == {"improved": 1, "stable_success": 2, "error": 1}
    error = cells(tables["quadrant_pairs"], "unit_id", "before", "after", change="error")
    assert error == [("beta-t01", 0.0, None)]


def test_scores_are_kept_hard_and_soft_for_each_validated_version(tables: dict[str, list[Row]]) -> None:
    """All of R: hard 6/8; soft (4 + ½ + 0 + 1 + 1)/8, beta-v00 being half right to the judges."""
    rows = tables["dual_metric"]
    assert cells(rows, "version", "hard", "soft", "mixed", task_type=None) == [
        ("seed", 0.375, 0.375, 0.375),
        ("final", 0.75, 0.8125, 0.78125),
    ]
    assert cells(rows, "units", "hard", "soft", task_type="beta", epoch=1) == [(4, 0.5, 0.625)]


def test_other_rules_are_judged_on_the_same_outcomes(tables: dict[str, list[Row]]) -> None:
    """Alpha: all of 1, 1, 1, 0 is known. Beta: 0 is known, the others' baselines are 0, 1, 1, so at best one
    of them is a win, which is in 3 of 4 minibatches and is one standard error, not more."""
    shown = ("rule", "accepts", "accepts_least", "accepts_most", "asked")
    assert cells(tables["shadow_gate"], *shown, task_type="alpha") == [
        ("gate", 1, 1, 1, 4),
        ("mean_is_higher", 1, 1, 1, 4),
        ("minibatch_of_3", 1, 1, 1, 3),
        ("one_standard_error", 1, 1, 1, 4),
    ]
    assert cells(tables["shadow_gate"], *shown, task_type="beta") == [
        ("gate", 0, 0, 0, 1),
        ("mean_is_higher", None, 0, 1, 4),
        ("minibatch_of_3", None, 0, 0.75, 3),
        ("one_standard_error", 0, 0, 0, 4),
    ]


def test_with_a_shadow_nothing_is_missing(record: RunRecord) -> None:
    """The rest of beta's rung: one win and two ties, the win in C(3,2) = 3 of C(4,3) = 4 minibatches."""
    gate = gated(record.seed, "beta", GATE.model_copy(update={"shadow": True}))
    found = verdicts(gate, record.benchmark.validation)
    assert cells(found, "rule", "accepts", "asked", "missing") == [
        ("gate", 0, 1, 0),
        ("mean_is_higher", 1, 4, 0),
        ("minibatch_of_3", 0.75, 3, 0),
        ("one_standard_error", 0, 4, 0),
    ]


def test_full_validation_says_afterwards_what_an_accepted_candidate_was_worth(
    tables: dict[str, list[Row]],
) -> None:
    shown = ("validation_before", "validation_after", "validation_wins", "validation_losses", "alone")
    alpha, beta = (cells(tables["shadow_gate"], *shown, task_type=t)[0] for t in ("alpha", "beta"))
    assert alpha == (0.25, 1.0, 3, 0, True)
    assert beta == (None, None, None, None, None)


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "mean", "minibatch", "error"),
    [
        (0, 0, 0, 0, 0, 0),
        (1, 0, 9, 1, 36 / 120, 0),  # of C(10,3) minibatches C(9,2) hold the win
        (2, 0, 8, 1, 64 / 120, 1),  # C(10,3) - C(8,3)
        (2, 1, 7, 1, 50 / 120, 0),  # one win, two ties: 2·C(7,2); two wins, no loss: 7; two and the loss: 1
        (4, 1, 0, 1, 1, 1),  # 3² > 5
        (3, 1, 0, 1, 1, 0),  # 2² = 4 is one standard error, not more
        (1, 3, 0, 0, 0, 0),
    ],
)
def test_rules_of_peers(
    wins: int, losses: int, ties: int, mean: float, minibatch: float, error: float
) -> None:
    differences = [1.0] * wins + [-1.0] * losses + [0.0] * ties
    assert mean_is_higher(differences) == mean
    assert minibatch_of_3(differences) == pytest.approx(minibatch)
    assert one_standard_error(differences) == error


def test_the_held_out_versions_are_told_apart(tables: dict[str, list[Row]]) -> None:
    rows = tables["holdout_eval"]
    assert cells(rows, "evaluation", "version", "units", "accuracy", "rollouts", task_type=None) == [
        ("epoch", "baseline", 4, 0.5, "data/baseline"),
        ("epoch", "best", 3, 1.0, "best"),
        ("epoch", "best_mixed", 3, 1.0, "best"),
        ("epoch", "epoch", 3, 1.0, "best"),
        ("final", "baseline", 4, 0.5, "data/baseline"),
        ("final", "delivered", 3, 1.0, "final_test"),
    ]
    assert cells(rows, "units", "accuracy", version="delivered", task_type="beta") == [(1, 1.0)]


def test_an_epoch_is_one_row(tables: dict[str, list[Row]]) -> None:
    shown = ("epoch", "hard", "tried", "accepted", "rejected", "promoted", "best_accuracy", "prompts_verdict")
    assert cells(tables["epoch_report"], *shown) == [(1, 0.75, 2, 1, 1, True, 0.75, "not_run")]


def test_turns_and_tool_calls_are_events_of_a_trace(record: RunRecord) -> None:
    look = Step(turn=1, tool="look", arguments={"at": 3}, outcome="found", result="a dog", nodes=("n1",))
    seen = row("alpha-d00", True, "k", trace=("let me look", "yes"), steps=(look,))
    baseline = Rollout(skills="s", prompts="p", rows=(seen,))
    rows = [r.model_dump() for r in trace_rows(replace(record, baseline=baseline))]
    assert cells(rows, "position", "turn", "kind", "text", "arguments", "nodes") == [
        (0, 1, "model", "let me look", None, None),
        (1, 1, "tool", "a dog", '{"at":3}', '["n1"]'),
        (2, 2, "model", "yes", None, None),
    ]


LINE = {"role": "student", "key": "k1", "cached": False, "tries": 3, "ended": 7.0, "seconds": 0.5}
USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.001}


def test_a_call_knows_the_job_that_asked(tmp_path: Path) -> None:
    logs = tmp_path / "calls"
    write_text(logs / "gate.01.003.card-payment.jsonl", json.dumps({**LINE, **USAGE}) + "\n")
    write_text(logs / "final_test.jsonl", json.dumps({**LINE, "error": "down"}) + "\n")
    final, gate = (r.model_dump() for r in call_rows(tmp_path))
    assert cells([final], "rule", "epoch", "type_slug", "error", "cost") == [
        ("final_test", None, None, "down", None)
    ]
    assert cells([gate], "rule", "epoch", "step", "type_slug", "retries", "cost") == [
        ("gate", 1, 3, "card-payment", 2, 0.001)
    ]
    write_text(logs / "rollout.01.001.jsonl", json.dumps({**LINE, **USAGE}) + '\n{"role": "stu')
    with pytest.raises(DataError, match=r"rollout\.01\.001\.jsonl:2: not a line of a call log"):
        list(call_rows(tmp_path))


def test_pandas_reads_each_table_with_its_types(folder: Path, tmp_path: Path) -> None:
    for as_csv in (False, True):
        gathered = gather(folder, tmp_path, as_csv=as_csv)
        assert [table.name for table in gathered] == list(ROWS)
    for name in ROWS:
        frame = read_table(tmp_path / f"{name}.jsonl")
        pd.testing.assert_frame_equal(frame, read_table(tmp_path / f"{name}.csv"))
    by_itself = pd.read_json(
        tmp_path / "predictions.jsonl", lines=True, dtype_backend="numpy_nullable", orient="records"
    )
    pd.testing.assert_frame_equal(
        by_itself[["question_id", "right", "call"]],
        read_table(tmp_path / "predictions.jsonl")[["question_id", "right", "call"]],
    )
    with pytest.raises(DataError, match="not a table"):
        read_table(tmp_path / "prediction.jsonl")


def test_no_sign_in_an_answer_ends_its_line(folder: Path, tmp_path: Path) -> None:
    """Some of them end a line for Python, a carriage return one for readers of CSV."""
    said = "a\u2028b\u0085c\rd\r\ne"
    run = tmp_path / "signs"
    for path in (folder / "data").iterdir():
        text = path.read_text()
        if path.name == "baseline.json":
            value = json.loads(text)
            value["rows"][0]["trace"] = [said]
            text = json.dumps(value)
        write_text(run / "data" / path.name, text)
    write_text(run / "log/calls/baseline.jsonl", canonical_line({**LINE, "error": said}) + "\n")
    for suffix, as_csv in (("jsonl", False), ("csv", True)):
        gather(run, tmp_path, as_csv=as_csv)
        assert read_table(tmp_path / f"traces.{suffix}")["text"][0] == said
        assert read_table(tmp_path / f"llm_calls.{suffix}")["error"][0] == said
    plain = pd.read_json(tmp_path / "traces.jsonl", lines=True)
    assert plain["text"][0] == pd.read_csv(tmp_path / "traces.csv")["text"][0] == said


def test_a_run_that_has_only_begun_has_all_tables_and_columns(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "begun"
    for name in ("questions.jsonl", "pools.json", "texts.json", "baseline.json"):
        write_text(run / "data" / name, (folder / "data" / name).read_text())
    sizes = {table.name: table.rows for table in gather(run, tmp_path)}
    assert sizes == {**dict.fromkeys(ROWS, 0), "predictions": 16, "dual_metric": 3}
    for name, model in ROWS.items():
        assert list(read_table(tmp_path / f"{name}.jsonl").columns) == list(model.model_fields)
    (run / "data" / "baseline.json").unlink()
    with pytest.raises(DataError, match=r"data/baseline\.json: not made yet"):
        gather(run, tmp_path)


def test_a_step_that_is_not_settled_is_left_out(folder: Path, record: RunRecord) -> None:
    files = [path for path in folder.rglob("*.json*") if not path.match("s001/texts.json")]
    unfinished = read_record([path for path in files if not path.match("end/*")])
    assert (len(record.steps), len(record.ends)) == (1, 1)
    assert (unfinished.steps, unfinished.ends) == ((), ())


def test_the_data_dictionary_is_up_to_date() -> None:
    assert (ROOT / "docs" / "tables.md").read_text() == dictionary(), (
        "skillmake tables --doc > docs/tables.md"
    )


def test_pandas_takes_no_column_for_a_date_and_every_column_is_explained() -> None:
    assert tuple(ROWS)[:-1] == TABLES
    for model in ROWS.values():
        for name, column in model.model_fields.items():
            assert not name.endswith(("_at", "_time"))
            assert (column.description or "").endswith(".")


def test_tables_are_made_from_what_they_need_and_from_nothing_else() -> None:
    assert place_of("runs/main/e01/s002/gate/card-payment.json") == "e01/s002/gate/card-payment.json"
    assert place_of("runs/main/e01/end/texts.json") == "e01/end/texts.json"
    for other in ("e01/s002/state.json", "e01/end/best.json", "tables/traces.jsonl", "e01/plan.json"):
        assert place_of(f"runs/main/{other}") is None
