"""Diagnoses as a page to read: per text what went wrong, how often, and what the judges say."""

from collections import Counter
from collections.abc import Mapping, Sequence

from skillmake.diagnose import confusions
from skillmake.packs import Case, Diagnosis, Pack

MOST_CONFUSIONS = 5
MOST_NOTES = 5


def diagnosis_text(diagnoses: Mapping[str, Diagnosis]) -> str:
    """Markdown: the packs of all diagnoses together, by the text that is to blame."""
    found = list(diagnoses.values())
    # A case may be in the packs of several texts
    cases = [case for each in found for case in _cases(each).values()]
    wrong = sum(not case.right for case in cases)
    degraded = sum(each.degraded for each in found)
    methods = ", ".join(sorted({each.method for each in found}))
    names = sorted({name for each in found for name in _packs(each)})
    head = (
        f"# Diagnosis\n\nRollouts: {', '.join(diagnoses)}. Method: {methods}. "
        f"{wrong} of {len(cases)} answers are wrong"
        + (f"; the judges gave nothing usable for {degraded}.\n" if degraded else ".\n")
    )
    return head + "".join(
        _section(name, [case for each in found for case in _packs(each).get(name, Pack()).cases])
        for name in names
    )


def _packs(diagnosis: Diagnosis) -> dict[str, Pack]:
    """Packs by what they are for, those without a case left out."""
    packs = {
        **{f"Skill: {name}": pack for name, pack in diagnosis.skill.items()},
        "System prompt": diagnosis.system,
        **{f"Tool: {name}": pack for name, pack in diagnosis.tools.items()},
    }
    return {name: pack for name, pack in packs.items() if pack.cases}


def _cases(diagnosis: Diagnosis) -> dict[str, Case]:
    return {case.question_id: case for pack in _packs(diagnosis).values() for case in pack.cases}


def _section(name: str, cases: Sequence[Case]) -> str:
    wrong = [case for case in cases if not case.right]
    verdicts = Counter(case.verdict for case in wrong if case.verdict)
    lines = [f"{len(wrong)} of {len(cases)} answers are wrong."]
    lines += [f"- {count} × {verdict}" for verdict, count in sorted(verdicts.items())]
    for each in confusions(cases)[:MOST_CONFUSIONS]:
        lines.append(f"- {each.count} × `{each.answer}` taken for `{each.prediction or 'no answer'}`")
    lines += [f"- {case.question_id}: {'; '.join(case.notes)}" for case in wrong if case.notes][:MOST_NOTES]
    missed = Counter(node for case in wrong for node in case.missed)
    lines += [f"- {count} × `{node}` not read" for node, count in missed.most_common(MOST_CONFUSIONS)]
    return f"\n## {name}\n\n" + "\n".join(lines) + "\n"
