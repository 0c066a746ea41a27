"""Steps 7 and 8 of the slow update: new prompts, and the second validation that they must stand."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from skillmake.artifacts import Artifact
from skillmake.diagnose import confusions
from skillmake.packs import Diagnosis, Pack
from skillmake.prompt_evolution import TOOL_TEXTS, Kind, PromptCandidate, Record
from skillmake.scores import Scores, SoftScores
from skillmake.slow import BestReport, Validation, choose_best
from skillmake.texts import SYSTEM_PROMPT, Texts

Verdict = Literal["not_run", "kept", "reverted"]
Evolver = Callable[[Sequence[Record]], list[PromptCandidate]]


class PromptsReport(Artifact):
    """Step 7. `reason`: why no prompt was evolved; `changed`: the paths that differ."""

    reason: str = ""
    candidates: tuple[PromptCandidate, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One line of progress."""
        if self.reason:
            return f"no prompt evolved, {self.reason}"
        if self.changed:
            return f"prompts changed: {', '.join(self.changed)}"
        return "no prompt changed: " + "; ".join(f"{c.name}: {c.reason}" for c in self.candidates)


class SecondValidation(Artifact):
    """Step 8: full validation R2 of the epoch's last version, kept apart from R as `slow_candidate`."""

    verdict: Verdict
    reason: str
    slow_candidate: Validation | None = None
    scores: Scores | None = None
    soft: SoftScores | None = None

    @property
    def kept(self) -> Validation | None:
        """R2 where it counts."""
        return self.slow_candidate if self.verdict == "kept" else None


def merge_packs(packs: Iterable[Pack]) -> Pack:
    """One pack of an epoch's packs of one text; the last case of a question counts."""
    cases = {case.question_id: case for pack in packs for case in pack.cases}
    merged = tuple(cases[question_id] for question_id in sorted(cases))
    return Pack(cases=merged, confusions=confusions(merged))


def evolve_prompts(
    texts: Texts, diagnoses: Iterable[Diagnosis], evolver: Evolver, epoch: int
) -> tuple[PromptsReport, Texts]:
    """Evolve the system prompt and the prompts of each tool from the epoch's packs; one new version.

    A tool without its two texts among the prompts is left as it is.
    """
    found = list(diagnoses)
    packs: dict[tuple[Kind, str], Pack] = {
        ("system", "system"): merge_packs(each.system for each in found),
    }
    for name in sorted({name for each in found for name in each.tools}):
        packs["tool", name] = merge_packs(each.tools[name] for each in found if name in each.tools)
    records = []
    for (kind, name), pack in packs.items():
        paths = prompt_paths(kind, name)
        if set(paths.values()) <= set(texts.prompts.files):
            now = {key: texts.prompts.files[path] for key, path in paths.items()}
            records.append(Record(kind, name, now, pack))
    candidates = evolver(records)
    files = {
        prompt_paths(candidate.kind, candidate.name)[key]: text
        for candidate in candidates
        for key, text in candidate.after.items()
        if text != candidate.before[key]
    }
    report = PromptsReport(candidates=tuple(candidates), changed=tuple(sorted(files)))
    return report, texts.with_prompts(files, f"prompts of epoch {epoch}")


def prompt_paths(kind: Kind, name: str) -> dict[str, str]:
    """File of each text of a prompt: `system.md`, or `extract` and `verify` of a tool."""
    if kind == "system":
        return {"system": SYSTEM_PROMPT}
    return {key: f"tools/{name}/{key}.md" for key in TOOL_TEXTS}


def second_verdict(
    first: Validation,
    second: Validation,
    scores: Scores,
    report: PromptsReport,
    soft: SoftScores | None = None,
) -> SecondValidation:
    """Keep the new prompts unless R2 is lower than R.

    R2 is compared with R, as SPEC §7.8 has it, although a momentum version may lie between the two: where
    R2 is lower because of the momentum, the prompts are reverted for it.
    """
    verdict: Verdict = "reverted" if second.accuracy < first.accuracy else "kept"
    sign = "<" if verdict == "reverted" else "≥"
    return SecondValidation(
        verdict=verdict,
        reason=f"{', '.join(report.changed)}: R2 {second.accuracy:.3f} {sign} R {first.accuracy:.3f}",
        slow_candidate=second,
        scores=scores,
        soft=soft,
    )


def after_second(
    second: SecondValidation, before: Texts, after: Texts, best: BestReport, epoch: int
) -> tuple[Texts, BestReport]:
    """Texts and best behind step 8; `before` and `after`: without and with the new prompts."""
    if second.kept is None or second.scores is None:
        return (before if second.verdict == "reverted" else after), best
    again = choose_best(best, second.kept, after, epoch, second.scores.overall.mixed)
    return after, again.model_copy(update={"promoted": best.promoted or again.promoted})
