"""The gates: each candidate with its evidence, its diff and its cases, and the ledger of all tests."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from skillmake.candidate import Candidate
from skillmake.compare import diff_lines
from skillmake.edits import EditReport
from skillmake.ledger import expected_false, ledger_row
from skillmake.packs import Case
from skillmake.questions import slug
from skillmake.report.charts import evidence_chart
from skillmake.report.parts import (
    NONE,
    Cell,
    Diff,
    Figure,
    Fold,
    Grid,
    Section,
    Table,
    count,
    cut,
    evidence,
    link,
    listed,
    many,
    marked,
    signed,
)
from skillmake.report.source import Source
from skillmake.settle import GateResult
from skillmake.tables.gates import GateEvidenceRow, StepReportRow
from skillmake.tables.record import StepRecord

MOST_CASES, MOST_LINES, MOST_TEXT, MOST_OPEN = 8, 160, 240, 100
# Action of a gate → the word, its sign in the overview, its class
ACTIONS = {
    "accept": ("accepted", "A", "good"),
    "accept_provisional": ("on probation", "P", "half"),
    "reject": ("rejected", "r", "bad"),
    "inconclusive": ("inconclusive", "?", ""),
    None: ("skipped", "-", ""),
}
EDITS = ("edit", "status", "where", "text", "why", "cases")
CASES = ("question", "is", "answered", "right is", "diagnosis")
LEDGER = ("test", "candidate", "W", "L", "units", "e", "confirms at", "decision", "stopped", "false so far ≤")


@dataclass(frozen=True)
class Gated:
    """One candidate at its gate, with the rows of the tables that are about it. `cases`: what it was made
    from, at the step in which it was made."""

    step: StepRecord
    gate: GateResult
    row: StepReportRow
    path: Sequence[GateEvidenceRow]
    cases: Sequence[Case]

    @property
    def anchor(self) -> str:
        return f"c-{self.step.epoch}-{self.step.step}-{slug(self.row.task_type)}"

    @property
    def name(self) -> str:
        return f"epoch {self.step.epoch} step {self.step.step} · {self.row.task_type}"


def candidates(source: Source) -> Section:
    """Overview, then the candidates step by step."""
    gated = list(_gated(source))
    words = (
        "A candidate is an edited skill. The gate asks it on units that it was not made from: W are those "
        "that only it gets right, L those that only the current skill gets right. The evidence e is read at "
        "the end of a rung (a circle): at the upper line it confirms; at the lower one, at the ladder's end, "
        "it lets in on probation. A triangle that points up is a win, one that points down a loss. A "
        "candidate that can hardly win any more stops early (futile). The lift is the share of W less that "
        "of L; shrunk, it is pulled to 0, the more the fewer units have told."
    )
    steps = groupby((each for each in gated if each.row.action is not None), key=lambda each: each.step)
    folds = [_step_fold(step, list(each)) for step, each in steps]
    parts = [words, _overview(gated), *folds, *_skipped(gated)]
    return Section("candidates", "Candidates and their evidence", parts)


def ledger(source: Source) -> Section:
    """Every test of the run in order, with what it may have let in wrongly."""
    gated = [each for each in _gated(source) if each.gate.decision is not None]
    rows = [ledger_row(each.gate.decision, "", 0) for each in gated if each.gate.decision is not None]
    lines = [
        _ledger_line(number, each, expected_false(rows[:number])["confirmed"])
        for number, each in enumerate(gated, 1)
    ]
    words = (
        "Each test adds 1/c to the expected number of false confirmations, c being the evidence it asks for: "
        "that many at most would be confirmed by luck if no candidate were better."
    )
    numeric = frozenset((*LEDGER[2:7], "test", LEDGER[-1]))
    table = Table("All tests of the run", LEDGER, lines, numeric)
    fold = Fold(many(len(lines), "test"), [table], is_open=len(lines) <= MOST_OPEN)
    return Section("ledger", "Ledger of tests", [words, fold])


def _gated(source: Source) -> Iterator[Gated]:
    rows = {(row.epoch, row.step, row.task_type): row for row in source.tables.steps}
    paths: dict[tuple[int, int | None, str], list[GateEvidenceRow]] = {}
    for at in source.tables.evidence:
        if at.gate == "candidate":
            paths.setdefault((at.epoch, at.step, at.task_type), []).append(at)
    origin: dict[tuple[str, str, str], Sequence[Case]] = {}
    for step in source.record.steps:
        for gate in step.gates:
            where, tried = (step.epoch, step.step, gate.task_type), gate.candidate
            made = (tried.path, tried.parent, tried.text)
            pack = step.diagnosis.skill.get(gate.task_type)
            own = pack.cases if pack is not None else ()
            cases = origin.get(made, own) if tried.steps_carried else own
            origin[made] = cases
            yield Gated(step, gate, rows[where], paths.get(where, ()), cases)


def _overview(gated: Sequence[Gated]) -> Grid:
    steps = list(dict.fromkeys((each.step.epoch, each.step.step) for each in gated))
    found = {(each.row.task_type, each.step.epoch, each.step.step): each for each in gated}
    rows = [
        (name, [_sign(found.get((name, *step))) for step in steps]) for name in sorted({n for n, *_ in found})
    ]
    return Grid(
        "What became of each candidate",
        "task type",
        [f"{epoch}.{step}" for epoch, step in steps],
        rows,
        "Columns are epoch.step. A: accepted, P: on probation, r: rejected, ?: inconclusive, -: none was "
        "made; where nothing stands, the step had no batch of the type. Each letter leads to its candidate.",
    )


def _sign(each: Gated | None) -> tuple[Cell, str]:
    if each is None:
        return "", ""
    word, sign, kind = ACTIONS[each.row.action]
    if each.row.action is None:
        return sign, kind
    return link(each.anchor, sign, f"{each.name}: {word}"), kind


def _skipped(gated: Sequence[Gated]) -> Iterator[Table]:
    reasons = Counter(each.row.reason for each in gated if each.row.action is None)
    if reasons:
        rows = [[reason, count(times)] for reason, times in sorted(reasons.items(), key=lambda r: (-r[1], r))]
        yield Table("Why no candidate was made", ("reason", "times"), rows, frozenset({"times"}))


def _step_fold(step: StepRecord, gated: Sequence[Gated]) -> Fold:
    signs = Counter(ACTIONS[each.row.action][0] for each in gated)
    said = ", ".join(f"{signs[word]} {word}" for word, *_ in ACTIONS.values() if signs[word])
    title = f"Epoch {step.epoch}, step {step.step}: {many(len(gated), 'candidate')}: {said}"
    return Fold(title, [_fold(each) for each in gated])


def _fold(each: Gated) -> Fold:
    row = each.row
    word, _, kind = ACTIONS[row.action]
    numbers = f"W {row.wins} L {row.losses} of {row.n}, e {evidence(row.e)}"
    title = (
        marked("type", row.task_type) + " " + marked(f"tag {kind}", word) + f" {row.stop_reason}, {numbers}"
    )
    return Fold(title, list(_evidence(each)), each.anchor)


def _evidence(each: Gated) -> Iterator[object]:
    row, tried = each.row, each.gate.candidate
    interval = "no confidence sequence, as no rung was finished"
    if row.delta_low is not None:
        interval = f"95 % confidence sequence {signed(row.delta_low)} to {signed(row.delta_high)}"
    yield (
        f"{each.name}. Lift (W − L)/n {signed(row.delta)}, shrunk {signed(row.delta_shrunk)}, {interval}; "
        f"evidence of harm {evidence(row.e_harm)}."
    )
    if tried.steps_carried:
        yield (
            f"It was made {many(tried.steps_carried, 'step')} before and goes on with fresh units; it brings "
            f"W {tried.prior.wins} L {tried.prior.losses} of {tried.prior.n}."
        )
    if each.path:
        yield _path_figure(each)
    yield _diff(each, tried)
    yield Table(f"Edits of {tried.path}", EDITS, [_edit_line(report) for report in tried.reports])
    yield from _cases(each)


def _path_figure(each: Gated) -> Figure:
    row = each.row
    start = [] if each.gate.candidate.prior.n else [{"units": 0, "e": 1.0, "outcome": "", "ends": False}]
    path = [
        {
            "units": at.position + 1,
            "e": at.e,
            "outcome": at.outcome if at.outcome in ("win", "loss") else "",
            "ends": at.read,
        }
        for at in each.path
    ]
    bars = {"confirms": row.e_confirm or 0.0, "probation": row.e_provisional or 0.0}
    read = [f"after {many(at.position + 1, 'unit')} {evidence(at.e)}" for at in each.path if at.read]
    said = ", ".join(read) or "none was finished"
    chart = evidence_chart([*start, *path], bars)
    return Figure(chart, f"Evidence of {each.name}.", f"Evidence at the rungs' ends: {said}")


def _diff(each: Gated, tried: Candidate) -> Diff:
    before = each.step.texts.skills.files.get(tried.path)
    lines = diff_lines(before, tried.text, "current", "candidate")
    more = [f"… {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return Diff([*lines[:MOST_LINES], *more], f"{tried.path}: current skill against candidate")


def _edit_line(report: EditReport) -> list[Cell]:
    edit = report.edit
    what = edit.text if not edit.answer else f"{edit.text} → {edit.answer}"
    status = f"{report.status}: {report.detail}" if report.detail else report.status
    where = edit.anchor or edit.section or NONE
    texts = [cut(text, MOST_TEXT) for text in (where, what or NONE, edit.reason or NONE)]
    return [edit.op, status, *texts, listed(edit.support)]


def _cases(each: Gated) -> Iterator[object]:
    """The cases that the edits name first, then the other failures of the pack."""
    named = {name for report in each.gate.candidate.reports for name in report.edit.support}
    order = sorted(each.cases, key=lambda case: (case.question_id not in named, case.right))
    shown = [case for case in order if case.question_id in named or not case.right][:MOST_CASES]
    rest = len(each.cases) - len(shown)
    if shown:
        note = f"{many(rest, 'case')} more in the pack." if rest else ""
        yield Table("Cases behind it", CASES, [_case_line(case, named) for case in shown], note=note)


def _case_line(case: Case, named: set[str]) -> list[Cell]:
    said = [case.verdict or "", case.blame and f"to blame: {case.blame}", *case.notes]
    told = cut("; ".join(filter(None, said)), MOST_TEXT) or NONE
    name = f"{case.question_id}{' (named by an edit)' if case.question_id in named else ''}: "
    answers = [cut(case.prediction or "no answer", 80), cut(case.answer, 80)]
    return [
        name + cut(case.question, MOST_TEXT),
        marked("good", "right") if case.right else marked("bad", "wrong"),
        *answers,
        told,
    ]


def _ledger_line(number: int, each: Gated, bound: float) -> list[Cell]:
    row = each.row
    word, _, kind = ACTIONS[row.action]
    numbers = [count(row.wins), count(row.losses), count(row.n), evidence(row.e), evidence(row.e_confirm)]
    decided = marked(f"tag {kind}", word)
    return [
        str(number),
        link(each.anchor, each.name),
        *numbers,
        decided,
        row.stop_reason or NONE,
        f"{bound:.2f}",
    ]
