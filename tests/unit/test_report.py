"""The report of a run, against values computed by hand."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skillmake.artifacts import write_text
from skillmake.cli import app
from skillmake.files import canonical_line
from skillmake.llm.cost import Price
from skillmake.report.candidates import candidates, ledger
from skillmake.report.cost import cost
from skillmake.report.failures import failures
from skillmake.report.graph import graph
from skillmake.report.page import report_html
from skillmake.report.parts import Diff, Figure, Fold, Grid, Section, Table
from skillmake.report.slow_updates import probations, slow_updates
from skillmake.report.source import RoleModel, Source, Stamp, read_folder
from skillmake.report.validation import validation
from skillmake.slow import ProbationOutcome
from skillmake.tables.catalog import jsonl, make_tables
from tests.recorded import write_run

CALL = {"role": "student", "tries": 1, "prompt_tokens": 10, "completion_tokens": 2, "ended": 5.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded run with two calls in its logs: one of 3 s, one from the cache."""
    run = tmp_path_factory.mktemp("project") / "runs" / "hand"
    write_run(run)
    paid = {**CALL, "key": "base-alpha-v00", "cached": False, "seconds": 3.0, "cost": 0.5}
    known = {**CALL, "key": "base-alpha-v01", "cached": True, "seconds": 0.1, "cost": 0.0}
    write_text(run / "log/calls/baseline.jsonl", "".join(canonical_line(c) + "\n" for c in (paid, known)))
    return run


@pytest.fixture(scope="module")
def source(folder: Path) -> Source:
    return read_folder(folder)


def parts(section: Section | Fold, kind: type) -> list[object]:
    """All parts of a kind, also those in folds."""
    found: list[object] = []
    for part in section.parts:
        found += [part] if isinstance(part, kind) else []
        found += parts(part, kind) if isinstance(part, Fold) else []
    return found


def rows(section: Section, caption: str) -> list[list[str]]:
    """Rows of a table with what the reader sees."""
    (table,) = (t for t in parts(section, Table) if isinstance(t, Table) and t.caption.startswith(caption))
    assert isinstance(table, Table)
    return [[re.sub("<[^>]*>", "", str(cell)) for cell in row] for row in table.rows]


def test_a_candidate_has_its_numbers_its_path_its_diff_and_its_cases(source: Source) -> None:
    section = candidates(source)
    alpha, beta = [f for step in section.parts if isinstance(step, Fold) for f in step.parts]
    assert isinstance(alpha, Fold)
    assert "accepted" in alpha.title
    assert "confirmed, W 3 L 0 of 4, e 3.75" in alpha.title
    assert "futile, W 0 L 0 of 1, e 1.00" in beta.title
    (figure,) = parts(alpha, Figure)
    # e is 1.5, 2.33, 3.75 and 3.75 unit by unit; it was read at the rung's end
    assert figure.caption == "Evidence at the rungs' ends: after 4 units 3.75"
    assert "confirms 3.5" in figure.svg
    (diff,) = parts(alpha, Diff)
    assert ("add", "+text and more") in diff.marked
    assert rows(Section("", "", alpha.parts), "Cases")[0][0].startswith("alpha-d00: ")


def test_the_overview_leads_to_each_candidate(source: Source) -> None:
    section = candidates(source)
    (grid,) = parts(section, Grid)
    assert grid.columns == ["1.1"]
    assert [(name, cells[0][1]) for name, cells in grid.rows] == [("alpha", "good"), ("beta", "bad")]
    targets = re.findall('href="#([^"]+)"', str([cells for _, cells in grid.rows]))
    assert targets == [fold.anchor for step in section.parts if isinstance(step, Fold) for fold in step.parts]


def test_the_ledger_adds_up_what_may_be_confirmed_by_luck(source: Source) -> None:
    """Both ask for 3.5: 1/3.5 = 0.29, 2/3.5 = 0.57."""
    found = rows(ledger(source), "All tests")
    assert [(row[0], row[5], row[6], row[7], row[-1]) for row in found] == [
        ("1", "3.75", "3.50", "accepted", "0.29"),
        ("2", "1.00", "3.50", "rejected", "0.57"),
    ]


def test_validations_stand_as_in_the_tables(source: Source) -> None:
    section = validation(source)
    assert [row[:5] for row in rows(section, "Validated")] == [
        ["seed", "0.375", "0.375", "0.375", "8"],
        ["epoch 1 R", "0.750", "0.812", "0.781", "8"],
    ]
    (grid,) = parts(section, Grid)
    assert dict(grid.rows) == {
        "alpha": [("0.250", "v2"), ("1.000", "v10")],
        "beta": [("0.500", "v5"), ("0.500", "v5")],
        "all": [("0.375", "v4"), ("0.750", "v8")],
    }


def test_failures_are_counted_by_type_and_by_the_text_to_blame(source: Source) -> None:
    found = rows(failures(source), "Diagnosed")
    assert found == [
        ["alpha", "2", "1", "1", "0", "0", "0"],
        ["beta", "1", "1", "0", "0", "1", "1"],
        ["all", "3", "2", "1", "0", "1", "1"],
    ]
    assert rows(failures(source), "Wrong answers") == [["–", "1", "0", "0"]]


def test_the_cost_by_stage_adds_up_and_has_its_price(source: Source) -> None:
    """16 baseline calls of 10 and 2 tokens, at 1,000 and 10,000 a million: 16 · 0.03 = 0.48."""
    taken = {"prompt_tokens": 10, "completion_tokens": 2}
    asked = tuple(row.model_copy(update=taken) for row in source.files.baseline.rows)
    files = replace(source.files, baseline=source.files.baseline.model_copy(update={"rows": asked}))
    models = {"student": RoleModel("small", Price(1e3, 1e4))}
    priced = replace(source, files=files, models=models)
    found = {(row[0], row[1]): row[2:] for row in rows(cost(priced), "Calls by stage")}
    assert found["baseline", "student: small"] == ["16", "0", "160", "32", "0.4800"]
    total = [int(row[0].replace(",", "")) for key, row in found.items() if key[0] != "all"]
    assert found["all", ""][0] == str(sum(total))


def test_time_and_money_come_from_the_logs_alone(source: Source) -> None:
    paid = rows(cost(source), "Calls really made")
    assert paid[0] == ["baseline", "student", "1", "1", "0", "0", "3", "3", "3", "0.5000"]
    assert [row[:5] for row in rows(cost(source), "Slowest")] == [["alpha-v00", "alpha", "1", "3", "3"]]
    without = cost(replace(source, logs=None))
    assert not [t for t in parts(without, Table) if isinstance(t, Table) and t.caption == "Slowest questions"]
    assert "`skillmake report hand`" in str(without.parts[-1])


def test_what_was_taken_back_is_told(source: Source) -> None:
    end = source.record.ends[0]
    outcome = ProbationOutcome(
        task_type="alpha",
        path="alpha/SKILL.md",
        improved=1,
        regressed=4,
        e=0.2,
        e_harm=6.2,
        outcome="rolled_back",
    )
    prompts = end.report.prompts.model_copy(update={"verdict": "reverted", "changed": ("system.md",)})
    changed = end.report.model_copy(update={"probations": (outcome,), "prompts": prompts})
    record = replace(source.record, ends=(replace(end, report=changed),))
    told = replace(source, record=record)
    assert rows(probations(told), "Probations")[0][4:] == ["1", "4", "0.20", "6.20", "rolled back"]
    assert rows(slow_updates(told), "Prompts")[0][3:5] == ["reverted", "system.md"]
    assert rows(slow_updates(source), "Momentum")[0][2:4] == ["not run", "slow.momentum is false"]


def stamps(*made: tuple[str, str, Sequence[str]]) -> list[Stamp]:
    return [Stamp(place, rule, tuple(sources)) for place, rule, sources in made]


def test_the_graph_is_read_off_the_stamps(source: Source) -> None:
    made = stamps(
        ("data/pools.json", "pools", ["data/questions.jsonl"]),
        ("e01/plan.json", "plan", ["data/pools.json"]),
        ("e01/s001/rollout.json", "rollout", ["e01/plan.json", "data/pools.json"]),
        ("e01/s001/state.json", "settle", ["e01/s001/rollout.json"]),
        ("e01/s002/rollout.json", "rollout", ["e01/plan.json", "e01/s001/state.json"]),
        ("e01/end/state.json", "epoch_end", ["e01/s001/state.json"]),
        ("e02/plan.json", "plan", ["e01/end/state.json"]),
    )
    found = {row[0]: row[1:] for row in rows(graph(replace(source, stamps=made)), "Rules")}
    assert found["questions"] == ["Prepare, once", "1", "–", "–"]
    assert found["rollout"] == ["Step", "2", "plan, pools", "settle"]
    assert found["plan"] == ["Plan, each epoch", "2", "pools", "epoch_end"]
    assert list(found) == ["questions", "pools", "plan", "rollout", "settle", "epoch_end"]


def test_the_page_is_whole_the_same_again_and_trusts_no_text(folder: Path, source: Source) -> None:
    page = report_html(source)
    assert page == report_html(read_folder(folder))
    assert not re.search(r"<script|<link|<img|url\(|@import|(?:src|href)=\"(?!#)", page)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    hostile = "</td><script>alert(1)</script>"
    case = source.record.steps[0].diagnosis.skill["alpha"].cases[0].model_copy(update={"question": hostile})
    pack = source.record.steps[0].diagnosis.skill["alpha"].model_copy(update={"cases": (case,)})
    diagnosis = source.record.steps[0].diagnosis.model_copy(update={"skill": {"alpha": pack}})
    record = replace(source.record, steps=(replace(source.record.steps[0], diagnosis=diagnosis),))
    told = report_html(replace(source, record=record))
    assert "<script" not in told
    assert "&lt;script&gt;alert(1)" in told


def test_tables_that_the_run_has_made_are_read_and_not_made_again(tmp_path: Path, source: Source) -> None:
    run = tmp_path / "runs" / "hand"
    write_run(run)
    for name, made in make_tables(source.record, None).items():
        write_text(run / f"tables/{name}.jsonl", jsonl(made))
    assert read_folder(run).tables == source.tables


def test_the_command_writes_the_page_of_an_unfinished_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parents[1])
    done = CliRunner().invoke(app, ["report", "hand"])
    assert done.output.startswith("build/report/hand.html: ")
    assert "The run is not finished: 1 step and 1 epoch done." in Path("build/report/hand.html").read_text()
