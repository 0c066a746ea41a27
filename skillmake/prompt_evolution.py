"""Evolution of the system prompt and of the tools' prompts (SPEC §7.7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from skillmake.artifacts import Artifact
from skillmake.config.models import Evolve
from skillmake.edits import EditReport, apply_edits
from skillmake.evolve import Proposal
from skillmake.guards import LeakGuard
from skillmake.packs import Pack
from skillmake.texts import SYSTEM_PROMPT, Texts

Kind = Literal["system", "tool"]
# Edits are made in skill texts; a prompt becomes one by a front matter that no edit can reach.
HEAD = "---\nname: prompt\ndescription: A prompt.\n---\n"


@dataclass(frozen=True)
class PromptAssignment:
    """What a teacher gets: one text of a prompt, its pack, and how many edits it may make."""

    kind: Kind
    name: str
    path: str
    text: str
    pack: Pack
    budget: int


class PromptTeacher(Protocol):
    def revise(self, assignment: PromptAssignment) -> Proposal: ...


class PromptCandidate(Artifact):
    """An edited prompt; `before` and `after` are its texts by path (a tool has two)."""

    kind: Kind
    name: str
    status: Literal["proposed", "skipped"]
    reason: str = ""
    before: dict[str, str]
    after: dict[str, str]
    reports: tuple[EditReport, ...] = ()
    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


def evolve_prompt(
    kind: Kind,
    name: str,
    texts: Texts,
    pack: Pack,
    *,
    budget: int,
    teacher: PromptTeacher,
    guard: LeakGuard,
    config: Evolve,
) -> PromptCandidate:
    """Ask the teacher for edits of a prompt and apply at most `budget` of them to each of its texts."""
    before = prompt_texts(kind, name, texts.prompts.files)
    blank = PromptCandidate(kind=kind, name=name, status="skipped", before=before, after=before)
    if not before:
        return blank.model_copy(update={"reason": "the prompts have no text of it"})
    if not pack.cases:
        return blank.model_copy(update={"reason": "no cases in the pack"})
    after = dict(before)
    reports: list[EditReport] = []
    proposals: list[Proposal] = []
    for path, text in before.items():
        proposal = teacher.revise(PromptAssignment(kind, name, path, text, pack, budget))
        proposals.append(proposal)
        result = apply_edits(
            HEAD + text,
            proposal.edits,
            budget=budget,
            fuzzy_threshold=config.fuzzy_threshold,
            token_cap=config.skill_token_cap,
            leaks=guard.reason,
        )
        after[path] = result.text.removeprefix(HEAD)
        reports += result.reports
    return blank.model_copy(
        update={
            "status": "skipped" if after == before else "proposed",
            "reason": _why(proposals, reports) if after == before else "",
            "after": after,
            "reports": tuple(reports),
            "calls": tuple(call for proposal in proposals for call in proposal.calls),
            "prompt_tokens": sum(proposal.prompt_tokens for proposal in proposals),
            "completion_tokens": sum(proposal.completion_tokens for proposal in proposals),
        }
    )


def prompt_texts(kind: Kind, name: str, files: Mapping[str, str]) -> dict[str, str]:
    """Texts of a prompt by path: `system.md`, or `extract.md` and `verify.md` of a tool."""
    paths = [SYSTEM_PROMPT] if kind == "system" else [f"tools/{name}/{k}.md" for k in ("extract", "verify")]
    return {path: files[path] for path in paths if path in files}


def _why(proposals: list[Proposal], reports: list[EditReport]) -> str:
    nothing = [proposal.nothing for proposal in proposals if proposal.nothing]
    refused = sorted({report.status for report in reports})
    return "; ".join([*nothing, *(["no edit was applied: " + ", ".join(refused)] if refused else [])])
