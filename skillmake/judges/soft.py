"""Soft scores of a full validation: what judges find sound in each wrong answer (SPEC §7.2)."""

from collections.abc import Mapping, Sequence

from skillmake.agent.loop import Prediction
from skillmake.diagnose import make_case
from skillmake.judges.diagnosis import Judged, pay, prompt_values
from skillmake.judges.findings import soft_score
from skillmake.judges.schemas import STAGE_ONE, Evidence, Spans
from skillmake.packs import Judging
from skillmake.questions import Question
from skillmake.scores import SoftScores
from skillmake.structured import Answer, Ask, Asker, Got
from skillmake.texts import Texts

NO_FAULT = "no step is flawed and nothing was missed in a wrong answer"


def judge_soft(
    rows: Sequence[Prediction], questions: Mapping[str, Question], texts: Texts, asker: Asker
) -> SoftScores:
    """Two judgements of each wrong answer, span evaluation and evidence, in one batch of calls.

    A right answer is not judged: its soft score is its outcome. Nothing is handed to a teacher, for these are
    questions that the gate and the best version are chosen by.
    """
    wrong = [
        Judged(row, make_case(row, questions[row.question_id], texts), questions[row.question_id].context)
        for row in sorted(rows, key=lambda row: row.question_id)
        if row.right is False
    ]
    asks = [
        Ask(asker.prompt(f"{judge}.md", **prompt_values(case, texts)), STAGE_ONE[judge])
        for case in wrong
        for judge in ("spans", "evidence")
    ]
    got = asker.ask(asks)
    soft, judgings = {}, {}
    for case, spans, evidence in zip(wrong, got[::2], got[1::2], strict=True):
        name = case.row.question_id
        judgings[name], found = _scored(spans, evidence)
        if found is not None:
            soft[name] = found
    return SoftScores(soft=soft, judgings=judgings)


def _scored(spans: Got[Answer], evidence: Got[Answer]) -> tuple[Judging, float | None]:
    paid = pay(pay(Judging(), "spans", spans), "evidence", evidence)
    if not isinstance(spans.value, Spans) or not isinstance(evidence.value, Evidence):
        return paid, None
    found = soft_score(spans.value, evidence.value)
    if found == 1:
        return paid.model_copy(update={"degraded": NO_FAULT}), None
    return paid, found
