"""Diagnosis by seven language-model judges in two stages (SPEC §4)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skillmake.agent.loop import Prediction
from skillmake.config.models import Diagnose
from skillmake.diagnose import confusions, make_case
from skillmake.errors import TrainingAborted
from skillmake.judges.findings import contradiction, notes, soft_score
from skillmake.judges.schemas import STAGE_ONE, Attribution, Findings, Spans
from skillmake.judges.steps import JudgedStep, Source, judged_steps, used_tools
from skillmake.packs import Case, Diagnosis, Judging, Pack
from skillmake.questions import Question
from skillmake.structured import Answer, Ask, Asker, Got
from skillmake.texts import TOOL_PARTS, Texts
from skillmake.traces import found_share
from skillmake.traces import soft_score as rule_soft_score
from skillmake.units import seeded


@dataclass(frozen=True)
class Judged:
    """A rollout with what its judges said so far; `degraded`: why that cannot be used."""

    row: Prediction
    case: Case
    context: str | None = None
    steps: tuple[JudgedStep, ...] = ()
    findings: Findings | None = None
    attribution: Attribution | None = None
    paid: Judging = field(default_factory=Judging)

    @property
    def degraded(self) -> str:
        return self.paid.degraded


def diagnose_by_judges(
    rows: Sequence[Prediction],
    questions: Mapping[str, Question],
    texts: Texts,
    *,
    asker: Asker,
    config: Diagnose,
    seed: tuple[object, ...],
    source: Source | None = None,
) -> Diagnosis:
    """Packs of a step's rollouts, judged. Rollouts that ended in an error are no cases.

    `source`: shows the judges what the tools found, where there are tools.
    Stage 1 judges every wrong answer and `config.right_sample` right ones, chosen by `seed`; stage 2 the
    wrong ones of which stage 1 gave findings. Each stage is one batch of calls.
    Raises TrainingAborted when more than `config.max_degraded_share` of the wrong cases are degraded.
    """
    cases = [
        Judged(row, make_case(row, questions[row.question_id], texts), questions[row.question_id].context)
        for row in sorted(rows, key=lambda row: row.question_id)
        if row.right is not None
    ]
    chosen = _sample([c.case.question_id for c in cases if c.case.right], config.right_sample, seed)
    judged = [
        replace(c, steps=judged_steps(c.row, questions[c.row.question_id], source))
        for c in cases
        if not c.case.right or c.case.question_id in chosen
    ]
    for stage in (stage_one, stage_two):
        judged = stage(judged, texts, asker)
        check_degraded(judged, config.max_degraded_share)
    by_id = {c.case.question_id: c for c in judged}
    return assemble([by_id.get(c.case.question_id, c) for c in cases], set(by_id))


def stage_one(cases: Sequence[Judged], texts: Texts, asker: Asker) -> list[Judged]:
    """Six judgements of each case."""
    asks = [
        Ask(
            asker.prompt(f"{judge}.md", **prompt_values(c, texts)),
            schema,
            every_step(c) if judge == "spans" else None,
        )
        for c in cases
        for judge, schema in STAGE_ONE.items()
    ]
    got = asker.ask(asks)
    size = len(STAGE_ONE)
    return [_with_findings(c, got[k * size : (k + 1) * size]) for k, c in enumerate(cases)]


def stage_two(cases: Sequence[Judged], texts: Texts, asker: Asker) -> list[Judged]:
    """Defect or lapse, and the text to blame, for each wrong case with findings; then all are checked."""
    todo = [k for k, c in enumerate(cases) if c.findings is not None and not c.case.right]
    asks = [
        Ask(
            asker.prompt("attribution.md", **prompt_values(cases[k], texts)),
            Attribution,
            _known_tool(tool_prompts(texts, cases[k].row)),
        )
        for k in todo
    ]
    got = dict(zip(todo, asker.ask(asks), strict=True))
    with_two = [_with_attribution(c, got[k]) if k in got else c for k, c in enumerate(cases)]
    return [_consistent(c) for c in with_two]


def every_step(c: Judged) -> Callable[[Answer], str]:
    """What is wrong with spans that do not judge each step of the case once."""
    steps = list(range(1, len(c.steps) + 1))

    def problem(answer: Answer) -> str:
        given = [span.step for span in answer.spans] if isinstance(answer, Spans) else steps
        if not steps or sorted(given) == steps:
            return ""
        return f"spans: judge each of the steps 1 to {len(steps)} once, not {', '.join(map(str, given))}"

    return problem


def _known_tool(tools: Collection[str]) -> Callable[[Attribution], str]:
    """What is wrong with a tool that is blamed and that the agent was not given a result by."""

    def problem(answer: Attribution) -> str:
        if answer.blame != "tool" or answer.tool in tools:
            return ""
        return f"tool: no tool {answer.tool!r}; there are {', '.join(tools) or 'none'}"

    return problem


def check_degraded(cases: Sequence[Judged], most: float) -> None:
    """Raise TrainingAborted when more than the share `most` of the wrong cases are degraded (SPEC §3)."""
    reasons = {c.case.question_id: c.degraded for c in cases if not c.case.right}
    degraded = {question_id: why for question_id, why in reasons.items() if why}
    if len(degraded) > most * len(reasons):
        shown = "; ".join(f"{question_id}: {why}" for question_id, why in sorted(degraded.items())[:2])
        raise TrainingAborted(
            f"the judges gave nothing usable for {len(degraded)} of {len(reasons)} wrong answers, "
            f"more than diagnose.max_degraded_share {most:g} ({shown})",
            "use a more capable models.judge, look at the templates in diagnose.templates, or set "
            "diagnose.method: rules",
        )


def assemble(cases: Sequence[Judged], judged: set[str]) -> Diagnosis:
    """Each case in the pack of the text that is to blame; right and unjudged ones in that of their skill."""
    skill: dict[str, list[Case]] = {c.row.task_type: [] for c in cases}
    system: list[Case] = []
    tools: dict[str, list[Case]] = {}
    for c in cases:
        case, blame = _final(c), c.attribution.blame if c.attribution and not c.degraded else "skill"
        if blame == "skill":
            skill[c.row.task_type].append(case)
        elif c.attribution is not None:
            (system if blame == "system" else tools.setdefault(c.attribution.tool, [])).append(case)
    return Diagnosis(
        method="judges",
        skill={task_type: _pack(found) for task_type, found in skill.items()},
        system=_pack(system),
        tools={name: _pack(found) for name, found in sorted(tools.items())},
        soft={c.case.question_id: _soft(c) for c in cases},
        degraded=sum(bool(c.degraded) for c in cases),
        judgings={c.case.question_id: c.paid for c in cases if c.case.question_id in judged},
    )


def tool_prompts(texts: Texts, row: Prediction) -> dict[str, dict[str, str]]:
    """Texts, not empty, of the prompts of the tools that gave a result in a rollout, by tool and by part."""
    found = {name: dict(zip(TOOL_PARTS, texts.tool(name), strict=True)) for name in sorted(used_tools(row))}
    filled = {name: {part: text for part, text in own.items() if text.strip()} for name, own in found.items()}
    return {name: own for name, own in filled.items() if own}


def _sample(question_ids: Sequence[str], size: int, seed: tuple[object, ...]) -> set[str]:
    return set(seeded("judge right", *seed).sample(question_ids, min(size, len(question_ids))))


def prompt_values(c: Judged, texts: Texts) -> dict[str, Any]:
    """What the template of a judge may show."""
    return {
        "case": c.case,
        "context": c.context,
        "trace": c.steps,
        "task_type": c.row.task_type,
        "skill": texts.skill(c.row.task_type),
        "system": texts.system,
        "tools": tool_prompts(texts, c.row),
        "findings": c.findings,
    }


def _with_findings(c: Judged, got: Sequence[Got[Answer]]) -> Judged:
    by_judge = dict(zip(STAGE_ONE, got, strict=True))
    paid = c.paid
    for judge, answer in by_judge.items():
        paid = pay(paid, judge, answer)
    if paid.degraded:
        return replace(c, paid=paid)
    values = {judge: answer.value for judge, answer in by_judge.items()}
    return replace(c, paid=paid, findings=Findings.model_validate(values))


def _with_attribution(c: Judged, got: Got[Attribution]) -> Judged:
    return replace(c, attribution=got.value, paid=pay(c.paid, "attribution", got))


def pay(paid: Judging, judge: str, got: Got[Any]) -> Judging:
    """`paid` with the calls of one more judge, and why it gave nothing usable."""
    return Judging(
        calls=(*paid.calls, *got.calls),
        prompt_tokens=paid.prompt_tokens + got.prompt_tokens,
        completion_tokens=paid.completion_tokens + got.completion_tokens,
        degraded=paid.degraded or ("" if got.value is not None else f"{judge}: {got.problem}"),
    )


def _consistent(c: Judged) -> Judged:
    if c.degraded or c.findings is None:
        return c
    found = contradiction(c.case.right, c.findings, c.attribution)
    return replace(c, paid=c.paid.model_copy(update={"degraded": found}))


def _final(c: Judged) -> Case:
    if c.degraded or c.findings is None:
        return c.case
    update: dict[str, Any] = {"notes": notes(c.findings, c.attribution)}
    if c.attribution is not None:
        tool = f"tool {c.attribution.tool}"
        blame = tool if c.attribution.blame == "tool" else c.attribution.blame
        update |= {"verdict": c.attribution.verdict, "blame": blame}
    return c.case.model_copy(update=update)


def _soft(c: Judged) -> float:
    """What the data says of the evidence counts, and the judges where it says nothing."""
    if c.degraded or c.findings is None:
        return rule_soft_score(c.row)
    return soft_score(c.findings.spans, c.findings.evidence, found_share(c.row))


def _pack(cases: Sequence[Case]) -> Pack:
    pack = Pack(cases=tuple(cases))
    return pack.model_copy(update={"confusions": confusions(pack.editable)})
