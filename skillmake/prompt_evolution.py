"""Evolution of the system prompt and of a tool's prompt record (SPEC §7 point 7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from skillmake.artifacts import Artifact
from skillmake.config.models import Evolve
from skillmake.edits import Edit
from skillmake.guards import LeakGuard
from skillmake.packs import Pack
from skillmake.skilltext import estimated_tokens
from skillmake.structured import Answer, Ask, Asker, Got

Kind = Literal["system", "tool"]
TOOL_TEXTS = ("extract", "verify")


class SystemAnswer(Answer):
    """The whole new system prompt."""

    system: str


class ToolAnswer(Answer):
    """The whole new record of a tool: both of its texts."""

    extract: str
    verify: str


class PromptCandidate(Artifact):
    """New texts of one prompt record; with `skipped`, `after` is `before` and `reason` says why."""

    kind: Kind
    name: str
    status: Literal["proposed", "skipped"]
    reason: str = ""
    before: dict[str, str]
    after: dict[str, str]
    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Record:
    """A prompt record as it is now, and the cases for which it was found to blame.

    `texts`: the system prompt under any one key, or a tool's texts under `extract` and `verify`, else
    ValueError.
    """

    kind: Kind
    name: str
    texts: Mapping[str, str]
    pack: Pack

    def __post_init__(self) -> None:
        _fields(self.kind, self.texts)

    @property
    def fields(self) -> dict[str, str]:
        """Key of each text by its field in the answer."""
        return dict(zip(_fields(self.kind, self.texts), sorted(self.texts), strict=True))


def evolve_records(
    records: Sequence[Record], *, budget: int, teacher: Asker | None, guard: LeakGuard, config: Evolve
) -> list[PromptCandidate]:
    """Ask the teacher for each record written anew, with at most `budget` lines of it changed.

    `teacher`: None where there is no teacher model. Lapses alone cost no call. More changed lines than the
    budget or an empty text are repaired once, like an answer that does not parse; a leak or a text above
    `config.skill_token_cap` is skipped. The records are asked for together.
    """
    reasons = [_no_call(record.pack, teacher) for record in records]
    asked = [k for k, reason in enumerate(reasons) if not reason]
    asks = [_ask(records[k], budget, teacher) for k in asked if teacher]
    got = dict(zip(asked, teacher.ask(asks) if teacher else [], strict=True))
    return [
        _judged(record, got[k], guard, config) if k in got else _candidate(record, reason=reasons[k])
        for k, record in enumerate(records)
    ]


def _ask(record: Record, budget: int, teacher: Asker) -> Ask[Answer]:
    before, fields = dict(record.texts), record.fields
    values = {"name": record.name, "texts": before, "pack": record.pack, "budget": budget}
    return Ask(
        teacher.prompt(f"{record.kind}.md", **values),
        SystemAnswer if record.kind == "system" else ToolAnswer,
        lambda answer: _problem(before, _texts(answer, fields), budget),
    )


def _judged(record: Record, got: Got[Answer], guard: LeakGuard, config: Evolve) -> PromptCandidate:
    paid = {key: getattr(got, key) for key in ("calls", "prompt_tokens", "completion_tokens")}
    if got.value is None:
        return _candidate(record, reason=f"the teacher's answer cannot be used: {got.problem}", **paid)
    after = _texts(got.value, record.fields)
    reason = _refused(record.texts, after, guard, config.skill_token_cap)
    return _candidate(record, None if reason else after, reason=reason, **paid)


def _candidate(record: Record, after: Mapping[str, str] | None = None, **more: Any) -> PromptCandidate:
    """With these texts, or skipped."""
    return PromptCandidate(
        kind=record.kind,
        name=record.name,
        status="skipped" if after is None else "proposed",
        before=dict(record.texts),
        after=dict(after or record.texts),
        **more,
    )


def changed_lines(before: str, after: str) -> int:
    """Lines that were added, dropped or replaced, each replaced one counted once."""
    codes = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for what, a, b, c, d in codes if what != "equal")


def _fields(kind: Kind, texts: Mapping[str, str]) -> tuple[str, ...]:
    if kind == "system" and len(texts) == 1:
        return ("system",)
    if kind == "tool" and sorted(texts) == sorted(TOOL_TEXTS):
        return TOOL_TEXTS
    wanted = "one text" if kind == "system" else " and ".join(TOOL_TEXTS)
    raise ValueError(f"a {kind} prompt has {wanted}, got {', '.join(sorted(texts)) or 'nothing'}")


def _no_call(pack: Pack, teacher: Asker | None) -> str:
    if teacher is None:
        return "there is no teacher model (evolve.teacher)"
    if not pack.cases:
        return "no cases in the pack"
    return "every failure is a lapse: the text is not to blame" if pack.only_lapses else ""


def _texts(answer: Answer, fields: Mapping[str, str]) -> dict[str, str]:
    """The new texts by their own keys."""
    return {key: str(getattr(answer, field)).strip() + "\n" for field, key in fields.items()}


def _problem(before: Mapping[str, str], after: Mapping[str, str], budget: int) -> str:
    if empty := [key for key, text in after.items() if not text.strip()]:
        return f"{', '.join(empty)}: the text is empty"
    lines = sum(changed_lines(before[key], after[key]) for key in before)
    return f"{lines} lines are changed, at most {budget} may be" if lines > budget else ""


def _refused(before: Mapping[str, str], after: Mapping[str, str], guard: LeakGuard, cap: int) -> str:
    if all(before[key].strip() == after[key].strip() for key in before):
        return "the texts are left as they were"
    for key, text in sorted(after.items()):
        if leak := guard.reason(Edit(op="replace", section="*", text=text)):
            return f"leak: {key} {leak}"
        if estimated_tokens(text) > cap:
            return f"over the cap: {key} has {estimated_tokens(text)} tokens of {cap}"
    return ""
