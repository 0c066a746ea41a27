"""System and tool prompts, and the second validation that they must stand (SPEC §7.7-8)."""

from collections.abc import Sequence

import pytest

from skillmake.agent.loop import Observation
from skillmake.epoch_end import fold_prompts
from skillmake.packs import Diagnosis, Pack
from skillmake.prompt_evolution import PromptCandidate, Record
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
from tests.unit.test_slow import TEXTS, best, row, rows, state
from tests.worlds import case, units

TOOLS = {"tools/search/extract.md": "Extract.\n", "tools/search/verify.md": "Verify.\n"}
WITH_TOOLS = TEXTS.with_prompts(TOOLS, "seed")


def diagnosis(system: Pack, **tools: Pack) -> Diagnosis:
    return Diagnosis(method="judges", skill={}, system=system, tools=tools, soft={}, degraded=0)


def test_the_packs_of_an_epoch_are_merged_and_the_last_case_of_a_question_counts() -> None:
    first = Pack(cases=(case("d01", False), case("d00", False)))
    merged = merge_packs([first, Pack(cases=(case("d01", True, "yes"),))])
    assert [(c.question_id, c.right) for c in merged.cases] == [("d00", False), ("d01", True)]
    assert [(c.answer, c.prediction, c.count) for c in merged.confusions] == [("yes", "no", 1)]


def test_all_prompts_of_an_epoch_are_one_new_version() -> None:
    packs = [Pack(cases=(case(name, False),)) for name in ("d00", "d01")]
    steps = [diagnosis(packs[0]), diagnosis(packs[1], search=packs[0])]
    seen = []

    def brief(record: Record) -> PromptCandidate:
        before = dict(record.texts)
        seen.append((record.kind, record.name, before, [c.question_id for c in record.pack.cases]))
        after = {key: f"{text}Be brief.\n" for key, text in before.items()}
        return PromptCandidate(
            kind=record.kind, name=record.name, status="proposed", before=before, after=after
        )

    report, after = evolve_prompts(WITH_TOOLS, steps, lambda records: list(map(brief, records)), 2)
    assert seen == [
        ("system", "system", {"system": "Answer."}, ["d00", "d01"]),
        ("tool", "search", {"extract": "Extract.\n", "verify": "Verify.\n"}, ["d00"]),
    ]
    assert report.changed == ("system.md", *TOOLS)
    assert after.prompts.files["tools/search/verify.md"] == "Verify.\nBe brief.\n"
    assert (after.prompts.parent, after.prompts.source) == (WITH_TOOLS.prompts.digest, "prompts of epoch 2")
    assert after.skills == WITH_TOOLS.skills


def test_a_tool_without_texts_of_its_own_is_left_alone() -> None:
    steps = [diagnosis(Pack(), unknown=Pack(cases=(case("d00", False),)))]

    def evolver(records: Sequence[Record]) -> list[PromptCandidate]:
        (system,) = records
        assert (system.kind, system.pack) == ("system", Pack())
        texts = dict(system.texts)
        return [PromptCandidate(kind="system", name=system.name, status="skipped", before=texts, after=texts)]

    report, after = evolve_prompts(WITH_TOOLS, steps, evolver, 1)
    assert [c.name for c in report.candidates] == ["system"]
    assert (report.changed, after) == ((), WITH_TOOLS)


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
