"""Failures by diagnosis: whose fault they are, and what was taken for what."""

from collections import Counter
from collections.abc import Iterator

from skillmake.packs import Case
from skillmake.report.parts import NONE, Section, Table, count, cut
from skillmake.report.source import Source

MOST = 15
TYPES = ("task type", "units", "wrong", "defects", "lapses", "degraded", "errors")
BLAMED = ("text to blame", "defects", "lapses", "not told")
TAKEN = ("task type", "right answer", "taken for", "times")


def failures(source: Source) -> Section:
    """What the diagnoses of all steps say of the batches."""
    words = (
        "The batches of all steps. A defect is a hole or an error in a text, a lapse a good text that was "
        "not followed; only judges tell them apart (`diagnose.method`)."
    )
    return Section("failures", "Failures by diagnosis", [words, *_tables(source)])


def _tables(source: Source) -> Iterator[Table]:
    note = "Units and wrong are units; the rest are questions, of which a wrong pair can have two."
    rows = list(_type_rows(source))
    yield Table("Diagnosed units by task type", TYPES, rows, frozenset(TYPES[1:]), note)
    blamed = Counter((case.blame or NONE, case.verdict) for case in _wrong_cases(source))
    if blamed.keys() - {(NONE, None)}:
        told = [
            [text, *(count(blamed[text, verdict]) for verdict in ("defect", "lapse", None))]
            for text in sorted({text for text, _ in blamed})
        ]
        yield Table("Wrong answers by the text to blame", BLAMED, told, frozenset(BLAMED[1:]))
    taken = Counter[tuple[str, str, str]]()
    for step in source.record.steps:
        for task_type, pack in step.diagnosis.skill.items():
            for each in pack.confusions:
                taken[task_type, each.answer, each.prediction] += each.count
    most = sorted(taken.items(), key=lambda item: (-item[1], item[0]))[:MOST]
    found = [[task_type, cut(a, 80), cut(b, 80), count(n)] for (task_type, a, b), n in most]
    yield Table("What was most often taken for what", TAKEN, found, frozenset({"times"}))


def _type_rows(source: Source) -> Iterator[list[str]]:
    rows = source.tables.steps
    names = ("units", "right", "defects", "lapses", "degraded", "errors")
    for task_type in [*sorted({row.task_type for row in rows}), "all"]:
        own = [row for row in rows if task_type in (row.task_type, "all")]
        units, right, *more = (sum(getattr(row, name) for row in own) for name in names)
        yield [task_type, *map(count, (units, units - right, *more))]


def _wrong_cases(source: Source) -> Iterator[Case]:
    """Each wrong answer of a step once, whatever packs hold it."""
    for step in source.record.steps:
        diagnosis = step.diagnosis
        packs = (*diagnosis.skill.values(), diagnosis.system, *diagnosis.tools.values())
        cases = {case.question_id: case for pack in packs for case in pack.cases if not case.right}
        yield from cases.values()
