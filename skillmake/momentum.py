"""Momentum: guidance from an epoch's beginning and end, written into the skills (SPEC §7.6)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, Protocol

from skillmake.agent.loop import Prediction
from skillmake.artifacts import Artifact
from skillmake.edits import Edit
from skillmake.guards import LeakGuard
from skillmake.noninferiority import HarmCheck
from skillmake.questions import Question
from skillmake.skilltext import estimated_tokens, momentum, with_momentum
from skillmake.texts import Texts, skill_path
from skillmake.units import Unit, seeded_shuffle

Change = Literal["improved", "regressed", "persistent_fail", "stable_success", "error"]


class Sample(Artifact):
    """A question answered with the epoch-start text (`before`) and with today's (`after`)."""

    question_id: str
    unit_id: str
    question: str
    options: tuple[str, ...] | None
    answer: str
    before: str | None
    after: str | None
    change: Change


class Comparison(Artifact):
    """A skill as it is now, its momentum block, and its samples; a teacher gets those without an error."""

    path: str
    task_types: tuple[str, ...]
    skill: str
    guidance: str
    samples: tuple[Sample, ...]

    @property
    def usable(self) -> "Comparison":
        return self.model_copy(update={"samples": tuple(s for s in self.samples if s.change != "error")})


class Guidance(Artifact):
    """What a teacher answers; `nothing` says why the text is empty."""

    text: str = ""
    nothing: str = ""
    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


class MomentumTeacher(Protocol):
    def guide(self, comparisons: Sequence[Comparison]) -> list[Guidance]: ...


class TypeCheck(Artifact):
    """The gate of a momentum text on one of its task types, with all rollouts of both sides."""

    task_type: str
    check: HarmCheck
    baseline_rows: tuple[Prediction, ...]
    changed_rows: tuple[Prediction, ...]


class FileMomentum(Artifact):
    """What became of one skill file. `text`: the skill with the guidance; that of `accepted` is current."""

    path: str
    task_types: tuple[str, ...]
    status: Literal["accepted", "rejected", "skipped"]
    reason: str = ""
    samples: tuple[Sample, ...] = ()
    guidance: str = ""
    text: str = ""
    checks: tuple[TypeCheck, ...] = ()
    calls: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


class MomentumReport(Artifact):
    """Step 6 of a slow update. `reason`: why there is no file; `rows`: rollouts with both texts."""

    reason: str = ""
    files: tuple[FileMomentum, ...] = ()
    rows: tuple[Prediction, ...] = ()

    @property
    def accepted(self) -> dict[str, str]:
        """New text of each skill file that has got one."""
        return {file.path: file.text for file in self.files if file.status == "accepted"}

    @property
    def checks(self) -> tuple[TypeCheck, ...]:
        """All gates of the step."""
        return tuple(check for file in self.files for check in file.checks)

    @property
    def summary(self) -> str:
        """One line of progress."""
        if not self.files:
            return f"no momentum, {self.reason}"
        found = [f"{file.path}: {file.status} {file.reason}".strip() for file in self.files]
        return f"momentum in {len(self.accepted)} of {len(self.files)} changed skills; " + "; ".join(found)


def changed_files(start: Texts, now: Texts, task_types: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Task types by skill file, for the files that differ between the epoch's start and now."""
    owners: dict[str, list[str]] = {}
    for task_type in sorted(task_types):
        owners.setdefault(skill_path(now.skills.files, task_type), []).append(task_type)
    before, after = start.skills.files, now.skills.files
    return {path: tuple(types) for path, types in sorted(owners.items()) if before.get(path) != after[path]}


def sample_units(
    diagnosis: Iterable[Unit], task_types: Collection[str], most: int, seed: tuple[object, ...]
) -> list[Unit]:
    """Diagnosis units of the types with at most `most` questions in all, seeded order; a pair stays whole."""
    own = [unit for unit in diagnosis if unit.task_type in task_types]
    chosen: list[Unit] = []
    for unit in seeded_shuffle(own, lambda unit: unit.unit_id, "momentum", *seed):
        if sum(len(each.questions) for each in (*chosen, unit)) <= most:
            chosen.append(unit)
    return chosen


def compare(
    path: str,
    task_types: tuple[str, ...],
    skill: str,
    questions: Iterable[Question],
    before: Mapping[str, Prediction],
    after: Mapping[str, Prediction],
) -> Comparison:
    """A skill with both answers to each of its questions; the rollouts are by question id."""
    samples = tuple(
        Sample(
            question_id=question.question_id,
            unit_id=question.unit_id,
            question=question.question,
            options=question.options,
            answer=question.answer,
            before=before[question.question_id].prediction,
            after=after[question.question_id].prediction,
            change=_change(before[question.question_id].right, after[question.question_id].right),
        )
        for question in questions
    )
    return Comparison(
        path=path, task_types=task_types, skill=skill, guidance=momentum(skill), samples=samples
    )


def _change(before: bool | None, after: bool | None) -> Change:
    if before is None or after is None:
        return "error"
    names: dict[tuple[bool, bool], Change] = {
        (False, True): "improved",
        (True, False): "regressed",
        (False, False): "persistent_fail",
        (True, True): "stable_success",
    }
    return names[before, after]


def write_guidance(
    comparisons: Sequence[Comparison], teacher: MomentumTeacher, guard: LeakGuard, token_cap: int
) -> list[FileMomentum]:
    """Have the teacher write guidance for each skill; `accepted` means: as far as nothing judges it.

    Skipped, with the reason, where there is no sample without an error, no guidance, a leak, too long a text
    or no change.
    """
    asked = [comparison.usable for comparison in comparisons if comparison.usable.samples]
    written = zip(asked, teacher.guide(asked), strict=True)
    found = {comparison.path: guidance for comparison, guidance in written}
    return [_written(each, found.get(each.path), guard, token_cap) for each in comparisons]


def _written(
    comparison: Comparison, found: Guidance | None, guard: LeakGuard, token_cap: int
) -> FileMomentum:
    skill, samples = comparison.skill, comparison.samples
    out = FileMomentum(
        path=comparison.path, task_types=comparison.task_types, status="skipped", samples=samples
    )
    if found is None:
        why = "every sample ended in an error" if samples else "no diagnosis question of its task types"
        return out.model_copy(update={"reason": why})
    text = with_momentum(skill, found.text) if found.text.strip() else skill
    out = out.model_copy(
        update={
            "guidance": found.text,
            "calls": found.calls,
            "prompt_tokens": found.prompt_tokens,
            "completion_tokens": found.completion_tokens,
        }
    )
    if why := _refusal(found, skill, text, guard, token_cap):
        return out.model_copy(update={"reason": why})
    return out.model_copy(update={"status": "accepted", "text": text})


def _refusal(found: Guidance, skill: str, text: str, guard: LeakGuard, token_cap: int) -> str:
    if not found.text.strip():
        return found.nothing or "the teacher has nothing to say"
    if leak := guard.reason(Edit(op="add", text=found.text)):
        return leak
    if text == skill:
        return "the guidance leaves the text as it was"
    if estimated_tokens(text) > token_cap:
        return f"{estimated_tokens(text)} tokens of {token_cap}"
    return ""


def judged(file: FileMomentum, checks: Sequence[TypeCheck]) -> FileMomentum:
    """The file as its gates leave it: rejected when one of its task types is shown to suffer."""
    failed = [check for check in checks if not check.check.accepted]
    if not failed:
        return file.model_copy(update={"checks": tuple(checks)})
    why = "; ".join(f"{check.task_type}: {check.check.reason}" for check in failed)
    return file.model_copy(update={"checks": tuple(checks), "status": "rejected", "reason": why})


def with_guidance(texts: Texts, report: MomentumReport, epoch: int) -> Texts:
    """One new version of the skills with all accepted guidance; the same one when there is none."""
    return texts.with_skills(report.accepted, f"momentum of epoch {epoch}")
