"""Rule-based diagnosis: right, wrong, confusions, near worked examples (SPEC §4, last paragraph)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from skillmake.agent.loop import Prediction
from skillmake.packs import Case, Confusion, Diagnosis, Pack
from skillmake.questions import Question
from skillmake.similarity import nearest
from skillmake.skilltext import examples
from skillmake.texts import Texts

NEAREST = 2


def diagnose_by_rule(
    rows: Sequence[Prediction], questions: Mapping[str, Question], texts: Texts
) -> Diagnosis:
    """Packs of a step's rollouts, without a judge. Rollouts that ended in an error are no cases."""
    by_type: dict[str, list[Case]] = {}
    for row in sorted(rows, key=lambda row: row.question_id):
        if row.right is not None:
            question = questions[row.question_id]
            by_type.setdefault(row.task_type, []).append(make_case(row, question, texts))
    packs = {
        task_type: Pack(cases=tuple(cases), confusions=confusions(cases))
        for task_type, cases in by_type.items()
    }
    soft = {case.question_id: float(case.right) for pack in packs.values() for case in pack.cases}
    return Diagnosis(method="rules", skill=packs, system=Pack(), tools={}, soft=soft, degraded=0)


def confusions(cases: Iterable[Case]) -> tuple[Confusion, ...]:
    """Wrong answers counted by (answer, prediction), most frequent first."""
    counts = Counter((case.answer, case.prediction or "") for case in cases if not case.right)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Confusion(answer=a, prediction=p, count=n) for (a, p), n in ordered)


def make_case(row: Prediction, question: Question, texts: Texts) -> Case:
    """A rollout as a case, with the worked examples of its skill that are closest to it."""
    shown = [example.question for example in examples(texts.skill(row.task_type))]
    return Case(
        question_id=row.question_id,
        unit_id=row.unit_id,
        question=question.question,
        options=question.options,
        answer=question.answer,
        prediction=row.prediction,
        right=bool(row.right),
        near=tuple(shown[place] for place in nearest(question.question, shown, NEAREST)),
    )
