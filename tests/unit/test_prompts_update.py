"""System and tool prompts, and the second validation that they must stand (SPEC §7.7-8)."""

from typing import Any

import pytest

from skillmake.agent.loop import Observation
from skillmake.config.models import Evolve
from skillmake.edits import Edit
from skillmake.epoch_end import fold_prompts
from skillmake.evolve import Proposal
from skillmake.guards import LeakGuard
from skillmake.packs import Diagnosis, Pack
from skillmake.prompt_evolution import PromptAssignment, PromptCandidate, evolve_prompt
from skillmake.prompts_update import (
    PromptsReport,
    SecondValidation,
    after_second,
    evolve_prompts,
    merge_packs,
    second_verdict,
)
from skillmake.scores import score
from skillmake.slow import (
    validate,
)
from skillmake.texts import Texts
from tests.unit.test_slow import TEXTS, best, row, rows, state
from tests.worlds import case, question, units


class Editor:
    """Proposes rules for every text that it is shown."""

    def __init__(self, *rules: str) -> None:
        self.rules, self.asked = rules, list[PromptAssignment]()

    def revise(self, assignment: PromptAssignment) -> Proposal:
        self.asked.append(assignment)
        edits = [Edit(op="add", section="Rules", text=f"- {rule}") for rule in self.rules]
        nothing = "" if edits else "the teacher proposed no edit"
        return Proposal(edits=tuple(edits), nothing=nothing, calls=(assignment.path,), prompt_tokens=5)


TOOLS = {"tools/search/extract.md": "Extract.\n", "tools/search/verify.md": "Verify.\n"}
WITH_TOOLS = TEXTS.with_prompts(TOOLS, "seed")


def evolved(
    editor: Editor, texts: Texts = TEXTS, *, name: str = "", cases: int = 1, budget: int = 2
) -> PromptCandidate:
    pack = Pack(cases=tuple(case(f"d{k:02d}", False) for k in range(cases)))
    return evolve_prompt(
        "tool" if name else "system",
        name or "system",
        texts,
        pack,
        budget=budget,
        teacher=editor,
        guard=LeakGuard([question("u03")]),
        config=Evolve(),
    )


def test_the_system_prompt_is_edited_within_the_budget() -> None:
    found = evolved(Editor("Be brief.", "Be kind.", "Be quick."))
    assert found.status == "proposed"
    assert found.after == {"system.md": "Answer.\n\n## Rules\n\n- Be brief.\n- Be kind.\n"}
    assert [report.status for report in found.reports] == ["applied", "applied", "over_budget"]


def test_both_texts_of_a_tool_are_edited() -> None:
    found = evolved(Editor("Be brief."), WITH_TOOLS, name="search")
    assert found.before == TOOLS
    assert found.after == {path: f"{text}\n## Rules\n\n- Be brief.\n" for path, text in TOOLS.items()}
    assert (found.calls, found.prompt_tokens) == (tuple(TOOLS), 10)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (evolved(Editor("Be brief."), cases=0), "no cases in the pack"),
        (evolved(Editor("Be brief."), name="search"), "the prompts have no text of it"),
        (evolved(Editor()), "the teacher proposed no edit"),
        (evolved(Editor("See u03.")), "no edit was applied: leak"),
    ],
)
def test_a_prompt_that_stays_says_why(found: PromptCandidate, reason: str) -> None:
    assert (found.status, found.reason) == ("skipped", reason)
    assert found.after == found.before


def diagnosis(system: Pack, **tools: Pack) -> Diagnosis:
    return Diagnosis(method="llm", skill={}, system=system, tools=tools, soft={}, degraded=0)


def test_the_packs_of_an_epoch_are_merged_and_the_last_case_of_a_question_counts() -> None:
    first = Pack(cases=(case("d01", False), case("d00", False)))
    merged = merge_packs([first, Pack(cases=(case("d01", True, "yes"),))])
    assert [(c.question_id, c.right) for c in merged.cases] == [("d00", False), ("d01", True)]
    assert [(c.answer, c.prediction, c.count) for c in merged.confusions] == [("yes", "no", 1)]


def test_all_prompts_of_an_epoch_are_one_new_version() -> None:
    packs = [Pack(cases=(case(name, False),)) for name in ("d00", "d01")]
    steps = [diagnosis(packs[0]), diagnosis(packs[1], search=packs[0])]
    seen = []

    def evolver(kind: Any, name: str, pack: Pack) -> PromptCandidate:
        seen.append((kind, name, [c.question_id for c in pack.cases]))
        return evolved(Editor("Be brief."), WITH_TOOLS, name="search" if kind == "tool" else "")

    report, after = evolve_prompts(WITH_TOOLS, steps, evolver, 2)
    assert seen == [("system", "system", ["d00", "d01"]), ("tool", "search", ["d00"])]
    assert report.changed == ("system.md", *TOOLS)
    assert (after.prompts.parent, after.prompts.source) == (WITH_TOOLS.prompts.digest, "prompts of epoch 2")
    assert after.skills == WITH_TOOLS.skills


TRIED = TEXTS.with_prompts({"system.md": "Answer well."}, "prompts of epoch 1")
CHANGED = PromptsReport(changed=("system.md",))


def second(r: str, r2: str) -> SecondValidation:
    of = units(4)
    found = validate(TRIED, [row(x.question_id, x.right, "R2") for x in rows(r2)], of)
    return second_verdict(validate(TEXTS, rows(r), of), found, score(found, of, {}), CHANGED)


@pytest.mark.parametrize(("r2", "promoted"), [("++++", True), ("+++-", False)])
def test_prompts_whose_r2_is_not_lower_are_kept(r2: str, promoted: bool) -> None:
    """R is ¾, the best ¾ too. R2 is written back and may be the best; a tie is kept but not promoted."""
    found = second("+++-", r2)
    assert found.verdict == "kept"
    texts, report = after_second(found, TEXTS, TRIED, best(0.75).model_copy(update={"promoted": False}), 1)
    assert texts == TRIED
    assert (report.promoted, report.best.accuracy) == (promoted, 1.0 if promoted else 0.75)
    assert (report.texts == TRIED) == promoted
    after = fold_prompts(state(seen={"u00": (False,)}), CHANGED, found, TRIED, units(4))
    assert after.correctness["u00"] == Observation(call="R2", right=True)
    assert after.seen["u00"] == (False, True)
    assert [(note.kind, note.digest) for note in after.versions] == [("prompts", TRIED.prompts.digest)]


def test_prompts_whose_r2_is_lower_are_reverted() -> None:
    """¾ → ½: nothing of R2 enters the state, and the report keeps what R has promoted."""
    found = second("+++-", "++--")
    assert (found.verdict, found.reason) == ("reverted", "system.md: R2 0.500 < R 0.750")
    assert found.slow_candidate is not None
    texts, report = after_second(found, TEXTS, TRIED, best(0.1), 1)
    assert (texts, report) == (TEXTS, best(0.1))
    after = fold_prompts(state(), CHANGED, found, TRIED, units(4))
    assert (after.correctness, after.seen) == ({}, {})
    assert [note.description for note in after.versions] == ["reverted: system.md: R2 0.500 < R 0.750"]


def test_a_best_that_r_has_promoted_stays_promoted_when_r2_is_no_better() -> None:
    _, report = after_second(second("+++-", "+++-"), TEXTS, TRIED, best(0.75), 1)
    assert report.promoted
