"""The epochs' ends: probations, momentum and prompts, and what of them was taken back."""

from collections.abc import Iterator

from skillmake.compare import diff_lines
from skillmake.momentum import FileMomentum
from skillmake.report.parts import (
    NONE,
    Cell,
    Diff,
    Fold,
    Section,
    Table,
    Text,
    count,
    evidence,
    listed,
    many,
    marked,
    share,
)
from skillmake.report.source import Source
from skillmake.tables.record import EndRecord

PROBATIONS = ("skill", "task type", "opened", "checked", "improved", "regressed", "e", "e of harm", "outcome")
MOMENTUM = ("skill", "epoch", "outcome", "why", "samples", "improved", "regressed")
CHECKS = ("task type", "W", "L", "units", "e of harm", "rejects at", "outcome")
PROMPTS = ("epoch", "R", "R2", "outcome", "changed", "why")
KINDS = {
    "confirmed": "good",
    "accepted": "good",
    "kept": "good",
    "rolled_back": "bad",
    "rejected": "bad",
    "reverted": "bad",
    "open": "half",
}


def probations(source: Source) -> Section:
    """Accepts that a full validation had still to confirm."""
    words = (
        "A candidate whose evidence did not suffice to confirm it is accepted on probation. The next full "
        "validation confirms it, leaves it open or restores the file. While it is open, what else is "
        "accepted in that file belongs to it."
    )
    rows = list(_probation_rows(source))
    found = Table("Probations", PROBATIONS, rows, frozenset(PROBATIONS[4:8])) if rows else "There was none."
    return Section("probations", "Probations", [words, found])


def _probation_rows(source: Source) -> Iterator[list[Cell]]:
    opened: dict[str, str] = {}
    for end in source.record.ends:
        for row in source.tables.steps:
            if row.epoch == end.epoch and row.action == "accept_provisional":
                opened.setdefault(row.task_type, f"epoch {row.epoch} step {row.step}")
        for each in end.report.probations:
            numbers = [count(each.improved), count(each.regressed), evidence(each.e), evidence(each.e_harm)]
            where = [each.path, each.task_type, opened.get(each.task_type, NONE), f"epoch {end.epoch}"]
            yield [*where, *numbers, _outcome(each.outcome)]
            if each.outcome != "open":
                opened.pop(each.task_type, None)
    for task_type, step in opened.items():
        skill = source.record.seed.skill_path(task_type)
        yield [skill, task_type, step, "not yet", *[NONE] * 4, _outcome("open")]


def slow_updates(source: Source) -> Section:
    """Momentum and prompts of every epoch."""
    parts: list[object] = [
        "At an epoch's end the teacher may write guidance into the skills that changed (momentum), which a "
        "gate rejects where it harms, and new prompts, which a second full validation R2 reverts where it is "
        "lower than R."
    ]
    lines = [row for end in source.record.ends for row in _momentum_rows(end)]
    parts.append(Table("Momentum", MOMENTUM, lines, frozenset(MOMENTUM[4:])) if lines else "No momentum.")
    parts += [
        Fold(f"Epoch {end.epoch}: guidance for {many(len(folds), 'skill')}", folds)
        for end in source.record.ends
        if (folds := list(_guidance(end)))
    ]
    rows = [_prompts_row(end) for end in source.record.ends]
    parts.append(Table("Prompts", PROMPTS, rows, frozenset(PROMPTS[1:3])))
    parts += [fold for end in source.record.ends for fold in _prompts_fold(end)]
    return Section("slow", "Slow updates", parts)


def _outcome(outcome: str) -> Cell:
    return marked(f"tag {KINDS.get(outcome, '')}", outcome.replace("_", " "))


def _momentum_rows(end: EndRecord) -> Iterator[list[Cell]]:
    report = end.report
    if not report.momentum:
        yield [NONE, str(end.epoch), _outcome("not run"), report.momentum_reason or NONE, *[NONE] * 3]
    for path, line in report.momentum.items():
        numbers = [count(line.samples), count(line.improved), count(line.regressed)]
        yield [path, str(end.epoch), _outcome(line.status), line.reason or NONE, *numbers]


def _guidance(end: EndRecord) -> Iterator[Fold]:
    for file in end.momentum.files:
        if file.guidance:
            title = f"{file.path}: {file.status}"
            yield Fold(title, [Text(file.guidance, "Guidance of the teacher"), *_checks(file)])


def _checks(file: FileMomentum) -> Iterator[Table]:
    rows = []
    for each in file.checks:
        n = each.check.numbers
        numbers = [count(n.wins), count(n.losses), count(n.n), evidence(n.e_harm), f"{each.check.harm_at:g}"]
        rows.append([each.task_type, *numbers, each.check.reason])
    if rows:
        yield Table("Its gate, which looks for harm", CHECKS, rows, frozenset(CHECKS[1:6]))


def _prompts_row(end: EndRecord) -> list[Cell]:
    report = end.report
    second = None if report.second is None else report.second.hard
    told = [listed(report.prompts.changed), report.prompts.reason or NONE]
    return [
        str(end.epoch),
        share(report.score.hard),
        share(second),
        _outcome(report.prompts.verdict),
        *told,
    ]


def _prompts_fold(end: EndRecord) -> Iterator[Fold]:
    before, after = end.settled.prompts.files, end.tried.prompts.files
    diffs = [
        Diff(diff_lines(before.get(path), after.get(path), path, path), path)
        for path in end.report.prompts.changed
    ]
    if diffs:
        yield Fold(f"Epoch {end.epoch}: new prompts, {end.report.prompts.verdict}", diffs)
