"""A run of one epoch with one step, small enough to compute its tables by hand.

Four validation units, two diagnosis and two test units of alpha and of beta. The candidate of alpha wins
three units and is confirmed; that of beta is futile after one unit of its rung; R finds alpha whole and beta
half right.
"""

from collections.abc import Mapping
from pathlib import Path

from skillmake.agent.loop import Prediction
from skillmake.artifacts import canonical, sha256, write_text
from skillmake.candidate import Candidate
from skillmake.config.models import Gate
from skillmake.edits import Edit, EditReport
from skillmake.epoch_report import SlowFiles, make_report
from skillmake.gate import Draw, run_gate
from skillmake.holdout import run_holdout, sides
from skillmake.momentum import MomentumReport
from skillmake.packs import Diagnosis, Judging, Pack
from skillmake.prepare import initial_best, initial_state
from skillmake.prompts_update import PromptsReport, SecondValidation
from skillmake.questions import dump_questions
from skillmake.rollout import Rollout
from skillmake.scores import score
from skillmake.settle import GateResult, settle
from skillmake.slow import ProbationReport, choose_best, validate
from skillmake.texts import Texts
from tests.starts import TEXTS, start
from tests.worlds import case, row

GATE = Gate(n_max=4, rung=4, e_confirm=3.5, min_discordant=3)
START = start({"alpha": (2, 4, 2), "beta": (2, 4, 2)})
# Signs of the units 00, 01, … of each type and pool: right, wrong, error
SEED = {"alpha-d": "-+", "beta-d": "--", "alpha-v": "---+", "beta-v": "--++", "alpha-t": "-+", "beta-t": "+-"}
CANDIDATE = {"alpha-v": "++++", "beta-v": "-+++"}
AT_END = {"alpha-v": "++++", "beta-v": "--++"}
DELIVERED = {"alpha-t": "++", "beta-t": "+!"}


def rows(signs: Mapping[str, str], call: str) -> tuple[Prediction, ...]:
    """A rollout per sign."""
    found = {f"{group}{k:02d}": sign for group, each in signs.items() for k, sign in enumerate(each)}
    outcome = {"+": True, "-": False, "!": None}
    return tuple(
        row(name, outcome[sign], f"{call}-{name}", task_type=name.split("-")[0])
        for name, sign in sorted(found.items())
    )


def draw(predictions: tuple[Prediction, ...]) -> Draw:
    right = {one.question_id: one.right for one in predictions}
    return lambda asked: [None if (r := right[u.unit_id]) is None else float(r) for u in asked]


def gated(texts: Texts, task_type: str, config: Gate = GATE) -> GateResult:
    """The candidate of a type at a real gate."""
    path = f"{task_type}/SKILL.md"
    edits = (EditReport(edit=Edit(op="add", text="more"), status="applied"),)
    tried = Candidate(
        task_type=task_type,
        path=path,
        status="proposed",
        parent=sha256(texts.skills.files[path]),
        text="text and more",
        reports=edits,
        budget=3,
        calls=("teach",),
    )
    group = f"{task_type}-v"
    before, after = rows({group: SEED[group]}, "base"), rows({group: CANDIDATE[group]}, "new")
    units = START.benchmark.ladder_units(task_type, use_diagnosis=False)
    decision = run_gate([units], draw(before), draw(after), config)
    asked = {one.unit_id for one in decision.evidence}
    return GateResult(
        task_type=task_type,
        candidate=tried,
        decision=decision,
        baseline_rows=before,
        candidate_rows=tuple(one for one in after if one.unit_id in asked),
    )


def write_run(folder: Path) -> None:
    """The artefacts of the run, as its rules write them."""

    def write(name: str, value: object) -> None:
        write_text(folder / name, canonical(value))

    units = START.benchmark.validation
    dump_questions(folder / "data" / "questions.jsonl", START.benchmark.questions.values())
    baseline = Rollout.of(TEXTS, rows(SEED, "base"))
    for name, value in (("pools", START.split), ("texts", TEXTS), ("baseline", baseline)):
        write(f"data/{name}.json", value)
    best = initial_best(TEXTS, baseline.rows, START.benchmark)
    first = initial_state(best, TEXTS, baseline.rows, START.benchmark, START.config)

    batch = rows({"alpha-d": "-+", "beta-d": "-!"}, "step")
    write("e01/s001/rollout.json", Rollout.of(TEXTS, batch))
    failed = case("alpha-d00", False).model_copy(update={"verdict": "defect"})
    diagnosis = Diagnosis(
        method="judges",
        skill={"alpha": Pack(cases=(failed,))},
        system=Pack(),
        tools={},
        soft={"alpha-d00": 0.25, "alpha-d01": 1.0, "beta-d00": 0.0},
        degraded=1,
        judgings={"alpha-d00": Judging(calls=("j",)), "beta-d00": Judging(degraded="spans: no JSON")},
    )
    write("e01/s001/diagnosis.json", diagnosis)
    gates = [gated(TEXTS, "alpha"), gated(TEXTS, "beta")]
    for gate in gates:
        write(f"e01/s001/gate/{gate.task_type}.json", gate)
    after, texts = settle(first, TEXTS, gates, units, 1)
    write("e01/s001/texts.json", texts)

    validation = validate(texts, rows(AT_END, "full"), units)
    scores = score(validation, units, {"beta-v00": 0.5})
    best = choose_best(best, validation, texts, 1, scores.overall.mixed)
    held_out = run_holdout(
        sides(TEXTS, texts, best), baseline, START.benchmark.test, lambda _: list(rows(DELIVERED, "test"))
    )
    files = SlowFiles(
        validation=validation,
        scores=scores,
        probations=ProbationReport(outcomes=()),
        momentum=MomentumReport(reason="slow.momentum is false"),
        prompts=PromptsReport(reason="slow.evolve_prompts is false"),
        second=SecondValidation(verdict="not_run", reason="the prompts are those of R"),
        best=best,
        texts=texts,
        holdout=held_out,
    )
    report = make_report(first, after, files)
    for name, value in (
        ("validation", validation),
        ("scores", scores),
        ("settled_texts", texts),
        ("momentum", files.momentum),
        ("prompts_texts", texts),
        ("validation2", files.second),
        ("texts", texts),
        ("holdout", held_out),
        ("report", report),
    ):
        write(f"e01/end/{name}.json", value)
    write("final_test.json", Rollout.of(texts, rows(DELIVERED, "test")))
