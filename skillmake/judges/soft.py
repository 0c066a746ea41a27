"""Soft scores of a full validation: what judges find sound in each wrong answer (SPEC §7.2)."""

from collections.abc import Mapping, Sequence

from skillmake.agent.loop import Prediction
from skillmake.diagnose import make_case
from skillmake.judges.diagnosis import Judged, every_step, pay, prompt_values
from skillmake.judges.findings import soft_score
from skillmake.judges.schemas import STAGE_ONE, Evidence, Spans
from skillmake.judges.steps import Source, judged_steps
from skillmake.packs import Judging
from skillmake.questions import Question
from skillmake.scores import SoftScores
from skillmake.structured import Answer, Ask, Asker, Got
from skillmake.texts import Texts
from skillmake.traces import found_share

NO_FAULT = "no step is flawed and nothing was missed in a wrong answer"


def judge_soft(
    rows: Sequence[Prediction],
    questions: Mapping[str, Question],
    texts: Texts,
    asker: Asker,
    source: Source | None = None,
) -> SoftScores:
    """Two judgements of each wrong answer, span evaluation and evidence, in one batch of calls.

    A right answer is not judged: its soft score is its outcome. Nothing is handed to a teacher, for these are
    questions that the gate and the best version are chosen by. `source`: as in `diagnose_by_judges`.
    """
    wrong = [
        _case(row, questions[row.question_id], texts, source)
        for row in sorted(rows, key=lambda row: row.question_id)
        if row.right is False
    ]
    asks = [
        ask
        for case in wrong
        for ask in (
            Ask(asker.prompt("spans.md", **prompt_values(case, texts)), STAGE_ONE["spans"], every_step(case)),
            Ask(asker.prompt("evidence.md", **prompt_values(case, texts)), STAGE_ONE["evidence"]),
        )
    ]
    got = asker.ask(asks)
    soft, judgings = {}, {}
    for case, spans, evidence in zip(wrong, got[::2], got[1::2], strict=True):
        name = case.row.question_id
        judgings[name], found = _scored(spans, evidence, found_share(case.row))
        if found is not None:
            soft[name] = found
    return SoftScores(soft=soft, judgings=judgings)


def _case(row: Prediction, question: Question, texts: Texts, source: Source | None) -> Judged:
    return Judged(row, make_case(row, question, texts), question.context, judged_steps(row, question, source))


def _scored(spans: Got[Answer], evidence: Got[Answer], known: float | None) -> tuple[Judging, float | None]:
    paid = pay(pay(Judging(), "spans", spans), "evidence", evidence)
    if not isinstance(spans.value, Spans) or not isinstance(evidence.value, Evidence):
        return paid, None
    found = soft_score(spans.value, evidence.value, known)
    if found == 1:
        return paid.model_copy(update={"degraded": NO_FAULT}), None
    return paid, found
