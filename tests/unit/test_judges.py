"""Diagnosis by judges (SPEC §4): schemas, repair, contradictions, guard, packs; also over HTTP."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.loop import Agent, Prediction
from skillmake.agent.trace import Step
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.config.models import Diagnose
from skillmake.errors import TrainingAborted
from skillmake.judges.diagnosis import diagnose_by_judges, tool_prompts
from skillmake.judges.factory import case_costs
from skillmake.judges.findings import checks, contradiction, notes, soft_score
from skillmake.judges.schemas import STAGE_ONE, Attribution, Findings
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter, Price
from skillmake.llm.openai_provider import OpenAIProvider
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse, Provider
from skillmake.packs import Case, Diagnosis, Pack
from skillmake.questions import Question
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World
from skillmake.structured import Answer, Asker, read_answer
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts, Version
from tests.worlds import question, row

DIAGNOSE = Path(__file__).parents[2] / "prompts" / "diagnose"
JUDGES: dict[str, type[Answer]] = {**STAGE_ONE, "attribution": Attribution}
SKILL = "---\nname: alpha\ndescription: Sorts.\n---\n\n## Rules\n\n- Say yes.\n"
PROMPTS = {
    "system.md": "You answer.",
    "tools/lens/extract.md": "Look closely.",
    "tools/lens/verify.md": "Look again.",
}
TEXTS = Texts(
    skills=Version.of({"alpha/SKILL.md": SKILL}, None, "seed"), prompts=Version.of(PROMPTS, None, "seed")
)
# What judges say of a wrong answer when they agree, and of a right one
WRONG: dict[str, dict[str, Any]] = {
    "Spans": {"spans": [{"step": 1, "sound": True, "why": ""}, {"step": 2, "sound": False, "why": "a leap"}]},
    "Evidence": {"nodes": [{"node": "the stamp", "found": False}]},
    "Adherence": {"followed": True, "broken": [], "why": ""},
    "Bias": {"biased": False, "why": ""},
    "Sufficiency": {"enough": False, "why": "no stamp"},
    "Reasoning": {"subtype": "missed_evidence", "why": ""},
    "Attribution": {"verdict": "defect", "blame": "skill", "tool": "", "why": "no rule for stamps"},
}
RIGHT: dict[str, dict[str, Any]] = {
    **WRONG,
    "Spans": {"spans": [{"step": 1, "sound": True, "why": ""}]},
    "Evidence": {"nodes": [{"node": "the stamp", "found": True}]},
    "Sufficiency": {"enough": True, "why": ""},
    "Reasoning": {"subtype": "none", "why": ""},
}
LAPSE = {
    "Adherence": {"followed": False, "broken": ["Say yes."], "why": ""},
    "Attribution": {"verdict": "lapse", "blame": "skill", "tool": "", "why": ""},
}
Said = Mapping[str, Mapping[str, Any]]


def findings(said: Said = WRONG, **change: Any) -> Findings:
    value = {judge: {**said[schema.__name__], **change.get(judge, {})} for judge, schema in STAGE_ONE.items()}
    return Findings.model_validate(value)


def verdict(**change: Any) -> Attribution:
    return Attribution.model_validate({**WRONG["Attribution"], **change})


class Scripted:
    """A judge that says what is written: by question the answers that differ from WRONG or RIGHT.

    An answer may be a list: the first, then the one after a repair. A str is said as it is.
    """

    identity: dict[str, Any] = {"provider": "scripted"}  # noqa: RUF012 - a constant

    def __init__(self, said: Mapping[str, Mapping[str, Any]]) -> None:
        self.said, self.asked = said, list[tuple[str, str, ChatRequest]]()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        assert request.schema is not None
        judge, text = request.schema["title"], str(request.messages[0]["content"])
        name = next(name for name in ("q1", "q2", "q3", "q4") if f"Is {name} so?" in text)
        self.asked.append((judge, name, request))
        usual = RIGHT if "Graded: right" in text else WRONG
        answer = self.said.get(name, {}).get(judge, usual[judge])
        if isinstance(answer, list):
            answer = answer[len(request.messages) // 2]
        if answer == "refuse":
            raise CallFailure("HTTP 400")
        finish = "length" if answer == "cut" else "stop"
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return ChatResponse(text, finish=finish, prompt_tokens=10, completion_tokens=2)

    async def close(self) -> None:
        return None


Run = Callable[..., Diagnosis]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Diagnosis of rows with a provider as the judge."""
    clients = []

    def diagnose(
        provider: Provider,
        rows: Sequence[Prediction],
        questions: Mapping[str, Question] | None = None,
        texts: Texts = TEXTS,
        **config: Any,
    ) -> Diagnosis:
        client = Client(
            provider, "judge", CallCache(tmp_path / "cache"), Meter(tmp_path, Caps(), "j"), slots=4
        )
        clients.append(client)
        model = ModelConfig(provider="rehearsal", model="judge", max_tokens=1000)
        known = questions or {row.question_id: question(row.question_id) for row in rows}
        return diagnose_by_judges(
            rows,
            known,
            texts,
            asker=Asker(client, model, Templates(DIAGNOSE)),
            config=Diagnose(method="judges", **config),
            seed=(1,),
        )

    yield diagnose
    for client in clients:
        client.close()


LOOKED = Step(turn=1, tool="lens", arguments={"at": "it"}, outcome="found", result="A stamp.", verdict="Yes.")


def wrong(*names: str, **more: Any) -> list[Prediction]:
    value = {"prediction": "no", "trace": ("I look.", "So no."), "steps": (LOOKED,), **more}
    return [row(name, False, f"call {name}", **value) for name in names]


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
def test_a_prompt_shows_the_case_the_texts_and_the_fields_to_fill(judge: str, run: Run) -> None:
    provider = Scripted({})
    run(provider, wrong("q1"))
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
def test_wrong_answers_and_a_sample_of_right_ones_are_judged(run: Run) -> None:
    """q1, q2 wrong: 7 calls each. One of q3, q4 (right): 6 calls. An error is no case."""
    provider = Scripted({})
    rows = [*wrong("q2", "q1"), row("q3", True, "c"), row("q4", True, "d"), row("q5", None, "e")]
    found = run(provider, rows, right_sample=1)
    assert len(provider.asked) == 20
    calls = {name: len(judging.calls) for name, judging in found.judgings.items()}
    (chosen,) = set(calls) - {"q1", "q2"}
    assert calls == {"q1": 7, "q2": 7, chosen: 6}
    assert chosen in ("q3", "q4")
    assert (found.judgings["q1"].prompt_tokens, found.judgings["q1"].completion_tokens) == (70, 14)
    assert [case.question_id for case in found.skill["alpha"].cases] == ["q1", "q2", "q3", "q4"]
    assert len({key for judging in found.judgings.values() for key in judging.calls}) == 20


def test_stage_two_comes_after_all_of_stage_one(run: Run) -> None:
    provider = Scripted({})
    run(provider, wrong("q1", "q2"))
    assert [judge for judge, _, _ in provider.asked][12:] == ["Attribution", "Attribution"]


def test_the_artefact_is_the_same_whatever_the_order_of_rows_and_the_cache(run: Run) -> None:
    rows = [*wrong("q1", "q2"), row("q3", True, "c"), row("q4", True, "d")]
    first = run(Scripted({}), rows, right_sample=1)
    second = Scripted({})
    assert run(second, rows[::-1], right_sample=1) == first
    assert second.asked == []  # all from the cache, and still counted


def test_an_answer_is_repaired_once(run: Run) -> None:
    provider = Scripted({"q1": {"Bias": ["I think so", WRONG["Bias"]]}})
    found = run(provider, wrong("q1"))
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
def test_what_stays_unusable_degrades_its_case_alone(said: Said, reason: str, calls: int, run: Run) -> None:
    found = run(Scripted({"q1": said}), wrong("q1", "q2"))
    assert found.degraded == 1
    assert (found.judgings["q1"].degraded, len(found.judgings["q1"].calls)) == (reason, calls)
    bare, judged = found.skill["alpha"].cases
    assert (bare.verdict, bare.blame, bare.notes) == (None, "", ())
    assert judged.verdict == "defect"


# --- the guard ------------------------------------------------------------------------
def test_more_than_half_of_the_wrong_cases_degraded_stops_the_training(run: Run) -> None:
    """Two of three are more than half; the right case does not dilute the share."""
    bad = {"Bias": "cut"}
    provider = Scripted({"q1": bad, "q2": bad})
    rows = [*wrong("q1", "q2", "q3"), row("q4", True, "d")]
    with pytest.raises(TrainingAborted) as caught:
        run(provider, rows)
    assert caught.value.message.startswith(
        "the judges gave nothing usable for 2 of 3 wrong answers, more than "
        "diagnose.max_degraded_share 0.5 (q1: bias: the answer was cut off (max_tokens); q2: bias:"
    )
    assert "models.judge" in caught.value.hint
    assert "Attribution" not in [judge for judge, _, _ in provider.asked]  # stage 2 is not paid any more


def test_half_of_the_wrong_cases_degraded_is_not_more_than_half(run: Run) -> None:
    bad = {"Bias": "cut"}
    assert run(Scripted({"q1": bad, "q2": bad}), wrong("q1", "q2", "q3", "q4")).degraded == 2


def test_degraded_right_cases_count_but_do_not_stop(run: Run) -> None:
    found = run(Scripted({"q2": {"Bias": "cut"}}), [*wrong("q1"), row("q2", True, "b")])
    assert found.degraded == 1
    assert found.soft == {"q1": 0.25, "q2": 1.0}  # the hard outcome where no judge scored


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


def test_single_errors_are_outvoted_and_contradicted_cases_lose_their_findings(run: Run) -> None:
    two = {"Sufficiency": RIGHT["Sufficiency"], "Reasoning": RIGHT["Reasoning"]}
    said = {"q1": two, "q2": {**two, "Evidence": RIGHT["Evidence"]}}
    found = run(Scripted(said), wrong("q1", "q2", "q3"))
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


def test_soft_is_kept_apart_from_hard(run: Run) -> None:
    found = run(Scripted({}), [*wrong("q1"), row("q2", True, "b"), row("q3", True, "c")], right_sample=1)
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
def test_each_case_goes_to_the_pack_of_the_text_to_blame(run: Run) -> None:
    said = {
        "q2": {"Attribution": {**WRONG["Attribution"], "blame": "system"}},
        "q3": {"Attribution": {**WRONG["Attribution"], "blame": "tool", "tool": "lens"}},
    }
    found = run(Scripted(said), [*wrong("q1", "q2", "q3"), row("q4", True, "d")])
    assert [case.question_id for case in found.skill["alpha"].cases] == ["q1", "q4"]
    assert [(case.question_id, case.blame) for case in found.system.cases] == [("q2", "system")]
    (tool,) = found.tools["lens"].cases
    assert (tool.question_id, tool.blame, tool.verdict) == ("q3", "tool lens", "defect")
    assert list(found.tools) == ["lens"]
    assert [(c.answer, c.prediction, c.count) for c in found.system.confusions] == [("yes", "no", 1)]


def test_a_lapse_is_kept_and_marked_and_makes_no_case_for_an_edit(run: Run) -> None:
    found = run(Scripted({"q1": LAPSE}), wrong("q1", "q2"))
    pack = found.skill["alpha"]
    assert [(case.question_id, case.verdict) for case in pack.cases] == [("q1", "lapse"), ("q2", "defect")]
    assert [case.question_id for case in pack.editable] == ["q2"]
    assert [confusion.count for confusion in pack.confusions] == [1]
    assert not pack.only_lapses
    assert run(Scripted({"q1": LAPSE}), wrong("q1")).skill["alpha"].only_lapses


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


def test_the_log_has_one_line_per_judged_case(run: Run) -> None:
    """70 prompt and 14 completion tokens at 1000 and 10000 a million: 0.07 + 0.14."""
    found = run(Scripted({}), wrong("q2", "q1"))
    lines = [json.loads(line) for line in case_costs(found.judgings, Price(1000, 10000)).splitlines()]
    assert [(line["question_id"], line["calls"]) for line in lines] == [("q1", 7), ("q2", 7)]
    assert lines[0]["cost"] == pytest.approx(0.21)


# --- the known-truth world ------------------------------------------------------------
def world_of(judge_error: float) -> World:
    return World(WorldConfig(types=2, units_per_type=24, pair_share=0.0, judge_error=judge_error))


def rollouts(world: World, tmp_path: Path) -> tuple[list[Prediction], dict[str, Question], Texts]:
    questions = {str(q["question_id"]): Question.model_validate(q) for q in world.questions()}
    files = {f"{name.replace(' ', '-')}/SKILL.md": SKILL for name in (t.name for t in world.types)}
    texts = Texts(skills=Version.of(files, None, "seed"), prompts=Version.of(PROMPTS, None, "seed"))
    client = Client(
        RehearsalProvider(world), "student", CallCache(tmp_path / "s"), Meter(tmp_path, Caps(), "s")
    )
    try:
        agent = Agent(client, ModelConfig(provider="rehearsal", model="s"), AgentConfig())
        return agent.run(questions.values(), texts), questions, texts
    finally:
        client.close()


def test_the_judge_of_the_world_tells_the_truth(run: Run, tmp_path: Path) -> None:
    """With the seed text a case that needs a rule is a defect; one that needs none went wrong by chance."""
    world = world_of(0.0)
    rows, questions, texts = rollouts(world, tmp_path)
    found = run(RehearsalProvider(world, "judge"), rows, questions, texts)
    assert found.degraded == 0
    cases = {case.question_id: case for pack in found.skill.values() for case in pack.cases}
    units = {unit.unit_id: unit for unit in world.units.values()}
    failed = {name: case for name, case in cases.items() if not case.right}
    assert {case.verdict for case in failed.values()} == {"defect", "lapse"}
    for name, case in failed.items():
        assert (case.verdict == "defect") is bool(units[name].needs)
        assert found.soft[name] == 0.0
    assert all(found.soft[name] == 1.0 for name in set(cases) - set(failed))


def test_judges_that_err_in_a_fifth_of_their_answers_are_used(run: Run, tmp_path: Path) -> None:
    world = world_of(0.2)
    rows, questions, texts = rollouts(world, tmp_path)
    found = run(RehearsalProvider(world, "judge"), rows, questions, texts)
    failed = sum(row.right is False for row in rows)
    assert 0 < found.degraded < failed / 2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_judges_that_err_in_most_of_their_answers_are_stopped(seed: int, run: Run, tmp_path: Path) -> None:
    world = World(world_of(0.6).config.model_copy(update={"seed": seed}))
    rows, questions, texts = rollouts(world, tmp_path)
    with pytest.raises(TrainingAborted, match=r"wrong answers, more than diagnose\.max_degraded_share 0\.5"):
        run(RehearsalProvider(world, "judge"), rows, questions, texts)


def test_over_http_the_judges_say_the_same_as_in_process(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(0.1)
    rows, questions, texts = rollouts(world, tmp_path)
    rows = rows[:6]
    here = run(RehearsalProvider(world, "judge"), rows, questions, texts)
    monkeypatch.setitem(os.environ, "NO_PROXY", "127.0.0.1")
    with serve(ServerConfig(world=world.config)) as (url, _):
        model = ModelConfig(provider="openai", model="rehearsal-judge", base_url=f"{url}/v1")
        there = run(OpenAIProvider(model, 20.0), rows, questions, texts)
    assert any(not row.right for row in rows)
    assert there.skill == here.skill
    assert there.soft == here.soft
    tokens = {name: judging.prompt_tokens for name, judging in here.judgings.items()}
    assert {name: judging.prompt_tokens for name, judging in there.judgings.items()} == tokens
