"""Judges that say what is written, and the rows they judge."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from skillmake.agent.loop import Prediction
from skillmake.agent.trace import Step
from skillmake.judges.schemas import STAGE_ONE, Attribution, Findings
from skillmake.llm.types import CallFailure, ChatRequest, ChatResponse, Provider
from skillmake.packs import Diagnosis
from skillmake.structured import Answer
from skillmake.texts import Texts, Version
from tests.worlds import row

DIAGNOSE = Path(__file__).parents[1] / "prompts" / "diagnose"
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
DiagnosisOf = Callable[..., Diagnosis]  # of a provider as the judge, and rows


def findings(said: Said = WRONG, **change: Any) -> Findings:
    value = {judge: {**said[schema.__name__], **change.get(judge, {})} for judge, schema in STAGE_ONE.items()}
    return Findings.model_validate(value)


def verdict(**change: Any) -> Attribution:
    return Attribution.model_validate({**WRONG["Attribution"], **change})


class Scripted(Provider):
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


LOOKED = Step(turn=1, tool="lens", arguments={"at": "it"}, outcome="found", result="A stamp.", verdict="Yes.")


def wrong(*names: str, **more: Any) -> list[Prediction]:
    value = {"prediction": "no", "trace": ("I look.", "So no."), "steps": (LOOKED,), **more}
    return [row(name, False, f"call {name}", **value) for name in names]
