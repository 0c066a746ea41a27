"""Evolution of one skill: a teacher proposes, bounded edits are applied (SPEC §5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from skillmake.artifacts import sha256
from skillmake.candidate import Candidate
from skillmake.config.models import Evolve
from skillmake.edits import ApplyResult, Edit, EditReport, apply_edits, consolidate_appendix
from skillmake.errors import DataError
from skillmake.guards import LeakGuard
from skillmake.packs import Diagnosis, Pack
from skillmake.skilltext import estimated_tokens, front_matter, momentum, parse_skill, with_momentum
from skillmake.state import RejectedEdit, State
from skillmake.texts import Texts


@dataclass(frozen=True)
class Assignment:
    """What a teacher gets: one skill, its pack, what failed before, and how many edits it may make."""

    task_type: str
    skill: str
    pack: Pack
    rejected: tuple[RejectedEdit, ...]
    budget: int
    seed: tuple[object, ...]


@dataclass(frozen=True)
class Proposal:
    """What a teacher answers: edits, or a whole new text, or the reason why there is nothing.

    `ranked`: places of the edits, the best first; None ranks them by their support.
    """

    edits: tuple[Edit, ...] = ()
    rewritten: str | None = None
    nothing: str = ""
    ranked: tuple[int, ...] | None = None
    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Teacher(Protocol):
    def propose(self, assignment: Assignment) -> Proposal: ...


def assign(
    task_type: str,
    texts: Texts,
    diagnosis: Diagnosis,
    state: State,
    budget: int,
    seed: tuple[object, ...],
    rejected_memory: int | None = None,
) -> Assignment:
    """The assignment of a task type in a step; of the rejected, the latest `rejected_memory` are told."""
    rejected = state.rejected.get(task_type, ())
    forgotten = 0 if rejected_memory is None else max(0, len(rejected) - rejected_memory)
    return Assignment(
        task_type=task_type,
        skill=texts.skill(task_type),
        pack=diagnosis.skill.get(task_type, Pack()),
        rejected=rejected[forgotten:],
        budget=budget,
        seed=(*seed, task_type),
    )


def carried_candidate(state: State, texts: Texts, task_type: str) -> Candidate | None:
    """The candidate that goes on from an earlier step, if its skill is still the text it was made from."""
    waiting = state.carried.get(task_type)
    fits = waiting is not None and waiting.parent == sha256(texts.skill(task_type))
    return waiting if fits and task_type not in state.cooldowns else None


def make_candidate(
    assignment: Assignment, path: str, teacher: Teacher, guard: LeakGuard, config: Evolve, cooldown: int
) -> Candidate:
    """Ask the teacher and apply its edits; the candidate says why when nothing came of it."""
    blank = Candidate(
        task_type=assignment.task_type,
        path=path,
        status="skipped",
        parent=sha256(assignment.skill),
        text=assignment.skill,
        budget=assignment.budget,
        pack_units=tuple(assignment.pack.units),
    )
    if cooldown > 0:
        return blank.model_copy(update={"reason": f"cooldown: {cooldown} more steps"})
    if not assignment.pack.cases:
        return blank.model_copy(update={"reason": "no cases in the pack"})
    if assignment.pack.only_lapses:
        return blank.model_copy(update={"reason": "every failure is a lapse: the skill is not to blame"})
    proposal = teacher.propose(assignment)
    paid = {
        "ranked": proposal.ranked,
        "calls": proposal.calls,
        "prompt_tokens": proposal.prompt_tokens,
        "completion_tokens": proposal.completion_tokens,
    }
    if proposal.nothing:
        return blank.model_copy(update={**paid, "reason": proposal.nothing})
    result = _apply(assignment, proposal, guard, config)
    text = consolidate_appendix(result.text, config.appendix_consolidate_threshold)
    out = blank.model_copy(
        update={**paid, "reports": tuple(result.reports), "clipped": result.clipped, "text": text}
    )
    return out.model_copy(update=_verdict(out, assignment))


def _verdict(candidate: Candidate, assignment: Assignment) -> dict[str, str]:
    if not candidate.applied:
        return {"reason": f"no edit was applied: {_tally(candidate.reports)}", "text": assignment.skill}
    if candidate.text == assignment.skill:
        return {"reason": "the edits leave the text as it was"}
    if any(same_edits(candidate.applied, entry.edits) for entry in assignment.rejected):
        return {"reason": "the same edits were rejected before", "text": assignment.skill}
    return {"status": "proposed"}


def same_edits(one: Sequence[Edit], other: Sequence[Edit]) -> bool:
    """Whether two lists hold the same edits, in whatever order and for whatever reasons."""
    return {_deed(edit) for edit in one} == {_deed(edit) for edit in other}


def _deed(edit: Edit) -> tuple[str, ...]:
    return edit.op, edit.anchor, edit.section, edit.text, edit.answer


def _apply(assignment: Assignment, proposal: Proposal, guard: LeakGuard, config: Evolve) -> ApplyResult:
    if proposal.rewritten is not None:
        return apply_rewrite(assignment.skill, proposal.rewritten, guard, config.skill_token_cap)
    return apply_edits(
        assignment.skill,
        proposal.edits,
        budget=assignment.budget,
        fuzzy_threshold=config.fuzzy_threshold,
        token_cap=config.skill_token_cap,
        leaks=guard.reason,
        ranked=proposal.ranked,
        cases={case.question_id for case in assignment.pack.cases},
    )


def apply_rewrite(old: str, new: str, guard: LeakGuard, token_cap: int) -> ApplyResult:
    """A whole new text as one edit; front matter and momentum block stay those of the old text."""
    body = new.strip()
    body = body[len(front_matter(body)) :].strip()
    text = with_momentum(front_matter(old) + "\n" + body + "\n", momentum(old))
    edit = Edit(op="replace", section="*", text=body, reason="rewrite")
    status, detail = "applied", ""
    if leak := guard.reason(edit):
        status, detail = "leak", leak
    elif estimated_tokens(text) > token_cap:
        status, detail = "over_cap", f"{estimated_tokens(text)} tokens of {token_cap}"
    else:
        try:
            parse_skill(text)
        except DataError as error:  # a marker of the momentum block that stands alone
            status, detail = "protected", error.message
    report = EditReport.model_validate({"edit": edit, "status": status, "detail": detail})
    return ApplyResult(text=text if status == "applied" else old, reports=(report,), clipped=False)


def _tally(reports: Sequence[EditReport]) -> str:
    counts: dict[str, int] = {}
    for report in reports:
        counts[report.status] = counts.get(report.status, 0) + 1
    return ", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "none was proposed"
