"""What is made of judgements (SPEC §4): contradictions, soft scores, notes, packs."""

import json
from itertools import product
from typing import Any

import pytest

from skillmake.judges.diagnosis import tool_prompts
from skillmake.judges.factory import case_costs
from skillmake.judges.findings import checks, contradiction, notes, soft_score
from skillmake.judges.schemas import Attribution
from skillmake.llm.cost import Price
from skillmake.packs import Case, Pack
from tests.judging import (
    LAPSE,
    LOOKED,
    RIGHT,
    TEXTS,
    WRONG,
    DiagnosisOf,
    Scripted,
    findings,
    verdict,
    wrong,
)
from tests.worlds import row

# --- contradictions -------------------------------------------------------------------
ALL_SOUND = {"spans": RIGHT["Spans"]}
NONE_SOUND = {"spans": {"spans": [{"step": 1, "sound": False, "why": ""}]}}
ALL_FOUND = {"evidence": RIGHT["Evidence"]}
ENOUGH = {"sufficiency": {"enough": True}}
NO_ERROR = {"reasoning": {"subtype": "none"}}
STRAYED = {"adherence": {"followed": False}}
LAPSED = verdict(verdict="lapse")


@pytest.mark.parametrize(
    ("right", "change", "attribution", "failed"),
    [
        (False, {}, verdict(), set()),
        (False, ALL_SOUND, verdict(), {"spans"}),
        (False, ALL_FOUND, verdict(), {"evidence"}),
        (False, {"evidence": {"nodes": []}}, verdict(), set()),
        (False, ENOUGH, verdict(), {"sufficiency"}),
        (False, NO_ERROR, verdict(), {"reasoning"}),
        (False, {}, LAPSED, {"attribution"}),
        (False, STRAYED, verdict(), {"attribution"}),
        (False, STRAYED, LAPSED, set()),
        (False, {}, verdict(verdict="lapse", blame="system"), set()),  # adherence is about the skill
        (True, {**ALL_SOUND, **NO_ERROR}, None, set()),
        (True, NO_ERROR, None, set()),  # a flawed step may lead to a right answer
        (True, {**NONE_SOUND, **NO_ERROR}, None, {"spans"}),
        (True, ALL_SOUND, None, {"reasoning"}),
    ],
)
def test_what_contradicts_the_outcome_or_another_judge(
    right: bool, change: dict[str, Any], attribution: Attribution | None, failed: set[str]
) -> None:
    found = checks(right, findings(**change), attribution)
    assert {check for check, problem in found.items() if problem} == failed


@pytest.mark.parametrize(
    ("right", "change", "attribution", "reason"),
    [
        (False, {**ALL_SOUND, **ENOUGH}, verdict(), ""),
        (
            False,
            {**ALL_SOUND, **ENOUGH, **NO_ERROR},
            verdict(),
            "spans: every step is sound; reasoning: error 'none' in a wrong answer; "
            "sufficiency: enough for a wrong answer",
        ),
        (False, {**ALL_SOUND, **ENOUGH}, verdict(blame="system"), ""),  # two of four
        (True, ALL_SOUND, None, ""),
        (
            True,
            NONE_SOUND,
            None,
            "spans: no step is sound; reasoning: error 'missed_evidence' in a right answer",
        ),
    ],
)
def test_a_case_is_degraded_when_most_of_its_checks_fail(
    right: bool, change: dict[str, Any], attribution: Attribution | None, reason: str
) -> None:
    assert contradiction(right, findings(**change), attribution) == reason


def test_single_errors_are_outvoted_and_contradicted_cases_lose_their_findings(
    diagnosis_of: DiagnosisOf,
) -> None:
    two = {"Sufficiency": RIGHT["Sufficiency"], "Reasoning": RIGHT["Reasoning"]}
    said = {"q1": two, "q2": {**two, "Evidence": RIGHT["Evidence"]}}
    found = diagnosis_of(Scripted(said), wrong("q1", "q2", "q3"))
    assert {name: judging.degraded[:10] for name, judging in found.judgings.items()} == {
        "q1": "",
        "q2": "reasoning:",
        "q3": "",
    }
    assert [case.verdict for case in found.skill["alpha"].cases] == ["defect", None, "defect"]
    assert (found.degraded, found.soft["q2"]) == (1, 0.0)


def test_the_share_of_degraded_cases_is_as_documented() -> None:
    """By counting all 2^6 ways in which judges err: 8 % at 20 % errors, 64 % at 60 %."""
    for share, documented in ((0.2, 0.08), (0.6, 0.64)):
        dropped = 0.0
        for errs in product([False, True], repeat=6):
            changes = [ALL_SOUND, ALL_FOUND, ENOUGH, NO_ERROR, STRAYED]
            change = {name: said for part, erring in zip(changes, errs[:5], strict=True) if erring
                      for name, said in part.items()}  # fmt: skip
            weight = share ** sum(errs) * (1 - share) ** (6 - sum(errs))
            dropped += weight * bool(
                contradiction(False, findings(**change), LAPSED if errs[5] else verdict())
            )
        assert dropped == pytest.approx(documented, abs=0.005)


# --- soft scores and notes ------------------------------------------------------------
@pytest.mark.parametrize(
    ("sound", "found", "score"),
    [([True, False], [False], 0.25), ([True, True, False, False], [True, True, False], 0.583333),
     ([True, False], [], 0.5), ([True], [True], 1.0), ([False], [False], 0.0)],
)  # fmt: skip
def test_soft_scores_by_hand(sound: list[bool], found: list[bool], score: float) -> None:
    """Mean of the shares: (2/4 + 2/3) / 2 = 0.583333; without evidence the spans alone."""
    spans = [{"step": k, "sound": is_sound, "why": ""} for k, is_sound in enumerate(sound, 1)]
    nodes = [{"node": "x", "found": was} for was in found]
    said = findings(spans={"spans": spans}, evidence={"nodes": nodes})
    assert soft_score(said.spans, said.evidence) == score


def test_soft_is_kept_apart_from_hard(diagnosis_of: DiagnosisOf) -> None:
    found = diagnosis_of(
        Scripted({}), [*wrong("q1"), row("q2", True, "b"), row("q3", True, "c")], right_sample=1
    )
    assert found.soft == {"q1": 0.25, "q2": 1.0, "q3": 1.0}
    assert [case.right for case in found.skill["alpha"].cases] == [False, True, True]


def test_notes_name_the_faults_only() -> None:
    assert notes(findings(), verdict()) == (
        "step 2 is flawed: a leap",
        "missed evidence: the stamp",
        "too little support for the answer: no stamp",
        "reasoning, missed evidence",
        "defect: no rule for stamps",
    )
    strayed = findings(RIGHT, adherence=LAPSE["Adherence"], bias={"biased": True, "why": "in  a\nhurry"})
    assert notes(strayed, None) == ("did not follow Say yes.", "confirmation bias: in a hurry")
    assert notes(findings(RIGHT), None) == ()


# --- packs ----------------------------------------------------------------------------
def test_each_case_goes_to_the_pack_of_the_text_to_blame(diagnosis_of: DiagnosisOf) -> None:
    said = {
        "q2": {"Attribution": {**WRONG["Attribution"], "blame": "system"}},
        "q3": {"Attribution": {**WRONG["Attribution"], "blame": "tool", "tool": "lens"}},
    }
    found = diagnosis_of(Scripted(said), [*wrong("q1", "q2", "q3"), row("q4", True, "d")])
    assert [case.question_id for case in found.skill["alpha"].cases] == ["q1", "q4"]
    assert [(case.question_id, case.blame) for case in found.system.cases] == [("q2", "system")]
    (tool,) = found.tools["lens"].cases
    assert (tool.question_id, tool.blame, tool.verdict) == ("q3", "tool lens", "defect")
    assert list(found.tools) == ["lens"]
    assert [(c.answer, c.prediction, c.count) for c in found.system.confusions] == [("yes", "no", 1)]


def test_a_lapse_is_kept_and_marked_and_makes_no_case_for_an_edit(diagnosis_of: DiagnosisOf) -> None:
    found = diagnosis_of(Scripted({"q1": LAPSE}), wrong("q1", "q2"))
    pack = found.skill["alpha"]
    assert [(case.question_id, case.verdict) for case in pack.cases] == [("q1", "lapse"), ("q2", "defect")]
    assert [case.question_id for case in pack.editable] == ["q2"]
    assert [confusion.count for confusion in pack.confusions] == [1]
    assert not pack.only_lapses
    assert diagnosis_of(Scripted({"q1": LAPSE}), wrong("q1")).skill["alpha"].only_lapses


def test_a_pack_without_failures_has_not_only_lapses() -> None:
    case = Case(
        question_id="a", unit_id="a", question="?", options=None, answer="x", prediction="x", right=True
    )
    assert not Pack(cases=(case,)).only_lapses
    assert not Pack().only_lapses


def test_tool_prompts_are_found_by_tool_and_text() -> None:
    both = {"lens": {"extract": "Look closely.", "verify": "Look again."}}
    assert tool_prompts(TEXTS, wrong("q1")[0]) == both
    assert tool_prompts(TEXTS.with_prompts({"tools/lens/verify.md": " \n"}, "t"), wrong("q1")[0]) == {
        "lens": {"extract": "Look closely."}
    }
    in_vain = LOOKED.model_copy(update={"outcome": "error"})
    assert tool_prompts(TEXTS, wrong("q1", steps=(in_vain,))[0]) == {}


def test_the_log_has_one_line_per_judged_case(diagnosis_of: DiagnosisOf) -> None:
    """70 prompt and 14 completion tokens at 1000 and 10000 a million: 0.07 + 0.14."""
    found = diagnosis_of(Scripted({}), wrong("q2", "q1"))
    lines = [json.loads(line) for line in case_costs(found.judgings, Price(1000, 10000)).splitlines()]
    assert [(line["question_id"], line["calls"]) for line in lines] == [("q1", 7), ("q2", 7)]
    assert lines[0]["cost"] == pytest.approx(0.21)
