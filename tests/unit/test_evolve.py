"""From a teacher's answer to a candidate (SPEC §5); the teacher model is that of the rehearsal world."""

import pytest

from skillmake.artifacts import sha256
from skillmake.config.models import Evolve
from skillmake.edits import Edit
from skillmake.evolve import Assignment, Proposal, assign
from skillmake.guards import LeakGuard
from skillmake.packs import Diagnosis, Pack
from skillmake.state import Best, State
from skillmake.texts import Texts, Version
from tests.evolving import HEAD, KIND, MOMENTUM, PACK, SKILL, Fixed, job, made, refused, rejection
from tests.worlds import question


def test_a_proposed_candidate_carries_what_the_gate_and_the_record_need() -> None:
    candidate = made(Proposal(edits=(KIND,), calls=("k",), prompt_tokens=9, completion_tokens=3))
    assert (candidate.status, candidate.reason) == ("proposed", "")
    assert candidate.text == SKILL.replace("kind", "quick")
    assert candidate.parent == sha256(SKILL)
    assert candidate.pack_units == ("unit q1", "unit q2")
    assert candidate.applied == (KIND,)
    assert (candidate.calls, candidate.prompt_tokens, candidate.completion_tokens) == (("k",), 9, 3)
    assert (candidate.path, candidate.budget, candidate.clipped) == ("parcel-desk/SKILL.md", 4, False)


def test_cooldown_or_an_empty_pack_cost_no_call() -> None:
    teacher = Fixed(Proposal(edits=(KIND,)))
    assert refused(made(teacher, cooldown=2)) == "cooldown: 2 more steps"
    assert refused(made(teacher, job(Pack()))) == "no cases in the pack"
    assert teacher.asked == []


def test_a_teacher_that_has_nothing_says_why_and_is_still_paid() -> None:
    candidate = made(Proposal(nothing="no idea", calls=("k",), prompt_tokens=9, completion_tokens=3))
    assert refused(candidate) == "no idea"
    assert (candidate.calls, candidate.prompt_tokens, candidate.completion_tokens) == (("k",), 9, 3)


def test_nothing_applied_says_what_became_of_each_edit() -> None:
    lost = Edit(op="replace", anchor="- Nowhere to be found.", text="x")
    fenced = Edit(op="replace", anchor="Keep it short.", text="x")
    candidate = made(Proposal(edits=(lost, fenced, lost)))
    assert refused(candidate) == "no edit was applied: 1 protected, 2 target_not_found"
    assert [report.edit for report in candidate.reports] == [lost, fenced, lost]
    assert refused(made(Proposal())) == "no edit was applied: none was proposed"


def test_edits_that_undo_each_other_leave_the_text_as_it_was() -> None:
    there, back = Edit(op="add", section="Rules", text="- Be brief."), Edit(op="delete", anchor="- Be brief.")
    candidate = made(Proposal(edits=(there, back)))
    assert candidate.applied == (there, back)
    assert refused(candidate) == "the edits leave the text as it was"


def test_the_same_edits_are_not_tried_again_in_whatever_order() -> None:
    more = Edit(op="add", section="Rules", text="- Be brief.")
    again = job(rejected=(rejection(Edit(op="delete", anchor="x")), rejection(more, KIND)))
    assert refused(made(Proposal(edits=(KIND, more)), again)) == "the same edits were rejected before"
    assert made(Proposal(edits=(KIND,)), again).status == "proposed"


def test_more_edits_than_the_budget_are_clipped_and_the_clip_is_recorded() -> None:
    more = Edit(op="add", section="Rules", text="- Be brief.", support=("q1", "q2"))
    candidate = made(Proposal(edits=(KIND, more)), job(budget=1))
    assert candidate.clipped
    assert candidate.applied == (more,)  # two cases support it, one the other
    assert [report.status for report in candidate.reports] == ["over_budget", "applied"]


def test_only_cases_of_the_pack_support_an_edit() -> None:
    """The pack has q1 and q2: three ids that no case has do not outweigh one that is there."""
    made_up = Edit(op="add", section="Rules", text="- Be brief.", support=("q7", "q8", "all"))
    candidate = made(Proposal(edits=(made_up, KIND)), job(budget=1))
    assert candidate.applied == (KIND,)


def test_a_leak_never_reaches_the_gate() -> None:
    guard = LeakGuard([question("held-out-7", question="Where does the wet blue parcel go?")])
    leak = Edit(op="add", section="Rules", text="- Where does the wet blue parcel go? Here.")
    assert refused(made(Proposal(edits=(leak,)), guard=guard)) == "no edit was applied: 1 leak"
    rewritten = Proposal(rewritten="As in held-out-7.")
    assert refused(made(rewritten, guard=guard)) == "no edit was applied: 1 leak"


def test_the_appendix_is_consolidated() -> None:
    edits = tuple(
        Edit(op="add", section="Appendix", text=f"- {word} alone") for word in ("Red", "Blue", "Jam")
    )
    candidate = made(Proposal(edits=edits), config=Evolve(appendix_consolidate_threshold=2))
    assert "## Appendix\n\n- Blue alone\n- Jam alone\n" in candidate.text


@pytest.mark.parametrize("front", ["", "---\nname: other\ndescription: Another.\n---\n\n"])
@pytest.mark.parametrize("fence", ["", "\n<!-- momentum:begin -->\nGo on for long.\n<!-- momentum:end -->\n"])
def test_a_rewrite_keeps_front_matter_and_momentum(front: str, fence: str) -> None:
    candidate = made(Proposal(rewritten=f"{front}## Rules\n\n- All new.\n{fence}"))
    assert candidate.status == "proposed"
    assert candidate.text == f"{HEAD}\n## Rules\n\n- All new.\n\n{MOMENTUM}"


def test_a_rewrite_with_a_lone_momentum_marker_is_refused() -> None:
    candidate = made(Proposal(rewritten="- All new.\n<!-- momentum:begin -->\nMine."))
    assert refused(candidate) == "no edit was applied: 1 protected"


def test_a_rewrite_that_is_too_long_or_says_the_same_is_skipped() -> None:
    candidate = made(Proposal(rewritten="word " * 100), config=Evolve(skill_token_cap=100))
    assert refused(candidate) == "no edit was applied: 1 over_cap"
    assert refused(made(Proposal(rewritten="## Rules\n\n- Be kind."))) == "the edits leave the text as it was"


def test_an_assignment_has_the_types_own_skill_pack_and_rejected_edits() -> None:
    best = Best(skills="s", prompts="p", accuracy=0.5, epoch=0)
    entries = {"alpha": (rejection(KIND),), "beta": (rejection(),)}
    state = State(epoch=0, step=0, total_steps=1, correctness={}, best=best, rejected=entries)
    files = {"alpha/SKILL.md": "a", "beta/SKILL.md": "b", "gamma/SKILL.md": "c"}
    texts = Texts(skills=Version.of(files, None, "seed"), prompts=Version.of({}, None, "seed"))
    packs = {"alpha": PACK, "beta": Pack()}
    found = Diagnosis(method="rules", skill=packs, system=Pack(), tools={}, soft={}, degraded=0)
    one = assign("alpha", texts, found, state, 3, (1, 2))
    assert one == Assignment("alpha", "a", PACK, (rejection(KIND),), 3, (1, 2, "alpha"))
    many = tuple(rejection(*[KIND] * k) for k in range(3))
    state = state.model_copy(update={"rejected": {"alpha": many}})
    for memory, told in ((None, many), (5, many), (2, many[1:]), (0, ())):
        assert assign("alpha", texts, found, state, 3, (1, 2), memory).rejected == told
    none = assign("gamma", texts, found, state, 3, (1, 2))
    assert (none.skill, none.pack, none.rejected) == ("c", Pack(), ())
