"""Diagnosis by judges (SPEC §4): schemas, templates, calls, repair, the guard."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from skillmake.errors import TrainingAborted
from skillmake.structured import read_answer
from tests.judging import (
    DIAGNOSE,
    JUDGES,
    SKILL,
    WRONG,
    DiagnosisOf,
    Said,
    Scripted,
    wrong,
)
from tests.worlds import row


# --- schemas --------------------------------------------------------------------------
def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)


@pytest.mark.parametrize("judge", sorted(JUDGES))
def test_a_schema_can_be_sent_as_strict_structured_output(judge: str) -> None:
    """Strict mode wants every property required, no further ones, no defaults and no bounds."""
    schema = JUDGES[judge].model_json_schema()
    found = list(objects(schema))
    assert found
    for part in found:
        assert part["additionalProperties"] is False
        assert sorted(part["required"]) == sorted(part["properties"])
    assert not {"default", "minItems", "minLength", "minimum"} & set(json.dumps(schema).split('"'))


@pytest.mark.parametrize("judge", sorted(JUDGES))
def test_each_judges_answer_is_read_also_behind_a_fence(judge: str) -> None:
    schema = JUDGES[judge]
    said = WRONG[schema.__name__]
    value = read_answer(f"Here:\n```json\n{json.dumps(said)}\n```", schema)
    assert value.model_dump(mode="json") == said


@pytest.mark.parametrize(
    ("judge", "text", "says"),
    [
        ("spans", '{"spans": []}', "spans: Value error, judge at least one step"),
        ("spans", '{"spans": [{"step": 1, "sound": "maybe", "why": ""}]}', "spans.0.sound: Input should be"),
        ("evidence", '{"nodes": [{"node": "x"}]}', "nodes.0.found: Field required"),
        ("adherence", '{"followed": true}', "broken: Field required"),
        ("bias", '{"biased": true, "why": "", "sure": 1}', "sure: Extra inputs"),
        ("sufficiency", "enough", "there is no JSON object"),
        (
            "reasoning",
            '{"subtype": "tired", "why": ""}',
            "subtype: Input should be 'none', 'misread_question'",
        ),
        ("attribution", '{"verdict": "both"}', "verdict: Input should be 'defect' or 'lapse'"),
    ],
)
def test_an_answer_that_does_not_fit_says_where(judge: str, text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        read_answer(text, JUDGES[judge])


# --- templates ------------------------------------------------------------------------
def test_there_is_a_template_for_each_judge() -> None:
    found = sorted(path.stem for path in DIAGNOSE.glob("*.md"))
    assert found == sorted([*JUDGES, "case", "repair"])


@pytest.mark.parametrize("judge", sorted(JUDGES))
def test_a_prompt_shows_the_case_the_texts_and_the_fields_to_fill(
    judge: str, diagnosis_of: DiagnosisOf
) -> None:
    provider = Scripted({})
    diagnosis_of(provider, wrong("q1"))
    name = JUDGES[judge].__name__
    (text,) = [str(asked.messages[0]["content"]) for said, _, asked in provider.asked if said == name]
    for part in (SKILL, "You answer.", "Look closely.", "Is q1 so?", "Options: yes; no"):
        assert part in text
    assert 'Step 1: I look. calls lens {"at": "it"}\n    What the agent was given:\n    A stamp.\n' in text
    assert "\nStep 2: So no.\n" in text
    assert "Expected answer: yes\nGiven answer: no\nGraded: WRONG\n" in text
    assert all(f'"{field}"' in text for field in JUDGES[judge].model_fields)
    assert ("Step 2 is flawed. a leap" in text) is (judge == "attribution")
    assert "{%" not in text


# --- calls ----------------------------------------------------------------------------
def test_wrong_answers_and_a_sample_of_right_ones_are_judged(diagnosis_of: DiagnosisOf) -> None:
    """q1, q2 wrong: 7 calls each. One of q3, q4 (right): 6 calls. An error is no case."""
    provider = Scripted({})
    rows = [*wrong("q2", "q1"), row("q3", True, "c"), row("q4", True, "d"), row("q5", None, "e")]
    found = diagnosis_of(provider, rows, right_sample=1)
    assert len(provider.asked) == 20
    calls = {name: len(judging.calls) for name, judging in found.judgings.items()}
    (chosen,) = set(calls) - {"q1", "q2"}
    assert calls == {"q1": 7, "q2": 7, chosen: 6}
    assert chosen in ("q3", "q4")
    assert (found.judgings["q1"].prompt_tokens, found.judgings["q1"].completion_tokens) == (70, 14)
    assert [case.question_id for case in found.skill["alpha"].cases] == ["q1", "q2", "q3", "q4"]
    assert len({key for judging in found.judgings.values() for key in judging.calls}) == 20


def test_stage_two_comes_after_all_of_stage_one(diagnosis_of: DiagnosisOf) -> None:
    provider = Scripted({})
    diagnosis_of(provider, wrong("q1", "q2"))
    assert [judge for judge, _, _ in provider.asked][12:] == ["Attribution", "Attribution"]


def test_the_artefact_is_the_same_whatever_the_order_of_rows_and_the_cache(diagnosis_of: DiagnosisOf) -> None:
    rows = [*wrong("q1", "q2"), row("q3", True, "c"), row("q4", True, "d")]
    first = diagnosis_of(Scripted({}), rows, right_sample=1)
    second = Scripted({})
    assert diagnosis_of(second, rows[::-1], right_sample=1) == first
    assert second.asked == []  # all from the cache, and still counted


def test_an_answer_is_repaired_once(diagnosis_of: DiagnosisOf) -> None:
    provider = Scripted({"q1": {"Bias": ["I think so", WRONG["Bias"]]}})
    found = diagnosis_of(provider, wrong("q1"))
    assert found.degraded == 0
    assert len(found.judgings["q1"].calls) == 8
    assert found.judgings["q1"].prompt_tokens == 80
    (repair,) = [asked for _, _, asked in provider.asked if len(asked.messages) == 3]
    assert repair.messages[1] == {"role": "assistant", "content": "I think so"}
    assert "could not be used: there is no JSON object" in str(repair.messages[2]["content"])


@pytest.mark.parametrize(
    ("said", "reason", "calls"),
    [
        ({"Bias": ["no", "no"]}, "bias: there is no JSON object in it", 7),
        ({"Bias": "cut"}, "bias: the answer was cut off (max_tokens)", 6),
        ({"Bias": "refuse"}, "bias: the call failed: HTTP 400", 5),
        (
            {"Attribution": {**WRONG["Attribution"], "blame": "tool", "tool": "saw"}},
            "attribution: tool: no tool 'saw'; there are lens",
            8,
        ),
    ],
)
def test_what_stays_unusable_degrades_its_case_alone(
    said: Said, reason: str, calls: int, diagnosis_of: DiagnosisOf
) -> None:
    found = diagnosis_of(Scripted({"q1": said}), wrong("q1", "q2"))
    assert found.degraded == 1
    assert (found.judgings["q1"].degraded, len(found.judgings["q1"].calls)) == (reason, calls)
    bare, judged = found.skill["alpha"].cases
    assert (bare.verdict, bare.blame, bare.notes) == (None, "", ())
    assert judged.verdict == "defect"


# --- the guard ------------------------------------------------------------------------
def test_more_than_half_of_the_wrong_cases_degraded_stops_the_training(diagnosis_of: DiagnosisOf) -> None:
    """Two of three are more than half; the right case does not dilute the share."""
    bad = {"Bias": "cut"}
    provider = Scripted({"q1": bad, "q2": bad})
    rows = [*wrong("q1", "q2", "q3"), row("q4", True, "d")]
    with pytest.raises(TrainingAborted) as caught:
        diagnosis_of(provider, rows)
    assert caught.value.message.startswith(
        "the judges gave nothing usable for 2 of 3 wrong answers, more than "
        "diagnose.max_degraded_share 0.5 (q1: bias: the answer was cut off (max_tokens); q2: bias:"
    )
    assert "models.judge" in caught.value.hint
    assert "Attribution" not in [judge for judge, _, _ in provider.asked]  # stage 2 is not paid any more


def test_half_of_the_wrong_cases_degraded_is_not_more_than_half(diagnosis_of: DiagnosisOf) -> None:
    bad = {"Bias": "cut"}
    assert diagnosis_of(Scripted({"q1": bad, "q2": bad}), wrong("q1", "q2", "q3", "q4")).degraded == 2


def test_degraded_right_cases_count_but_do_not_stop(diagnosis_of: DiagnosisOf) -> None:
    found = diagnosis_of(Scripted({"q2": {"Bias": "cut"}}), [*wrong("q1"), row("q2", True, "b")])
    assert found.degraded == 1
    assert found.soft == {"q1": 0.25, "q2": 1.0}  # the hard outcome where no judge scored
