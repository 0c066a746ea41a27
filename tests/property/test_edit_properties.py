"""Properties of skill texts and edits that hold for whatever a user or a teacher writes (SPEC §5)."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from skillmake.edits import ApplyResult, Edit, apply_edits, consolidate_appendix
from skillmake.skilltext import (
    MOMENTUM_BEGIN,
    MOMENTUM_END,
    Example,
    appendix_items,
    estimated_tokens,
    examples,
    front_matter,
    momentum,
    parse_skill,
    rules_text,
    with_examples,
    with_momentum,
)

quick = settings(max_examples=25, deadline=None)  # a slow machine is no failure

HEADS = (
    "---\nname: a\ndescription: d\n---\n",
    "---\nname: a-b\ndescription: |\n  ## Rules\n  - one\nlicense: x\n---\n",
    "---\n# ## Examples\nname: a\ndescription: '---'\n---\n",
)
ODD = (
    "> ",
    ">",
    "A: ",
    "Q: ",
    "\\",
    "\\A: ",
    "## ",
    "# ",
    "- ",
    "---",
    "\u2028",
    "\x85",
    "\x0b",
    "\x1c",
    "\t",
    " ",
)
LINES = (
    "",
    "## Rules",
    "## Examples",
    "## Appendix",
    "# Title",
    "- one",
    "- two",
    "prose",
    "> Q: q",
    "> A: a",
)
pieces = st.one_of(
    st.sampled_from(ODD), st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=5)
)
texts = st.lists(pieces, max_size=4).map("".join)
lines = st.one_of(st.sampled_from(LINES), texts.map(lambda text: text.replace("\n", " ")))
worked = st.builds(
    Example, st.lists(texts, max_size=4).map("\n".join), st.lists(texts, max_size=3).map("\n".join)
)


@st.composite
def skills(draw: st.DrawFn) -> str:
    """A valid skill of odd lines; with or without a last line end and a momentum block."""
    text = draw(st.sampled_from(HEADS)) + "\n".join(draw(st.lists(lines, max_size=12)))
    if draw(st.booleans()):
        block = f"{MOMENTUM_BEGIN}\n{draw(lines)}\n{MOMENTUM_END}"
        text = text.rstrip("\n") + "\n" + block + draw(st.sampled_from(["", "\n", "\n\nbehind it\n"]))
    return text


@st.composite
def edits(draw: st.DrawFn, skill: str) -> list[Edit]:
    """Edits whose anchors are often lines of the skill, or nearly so, or the momentum markers."""
    known = [*skill.split("\n"), "q", "one", "nowhere to be found", MOMENTUM_END]
    anchors = st.one_of(st.sampled_from(known), st.sampled_from(known).map(lambda line: line + "!"), texts)
    inserted = st.one_of(
        lines, texts, st.sampled_from([MOMENTUM_BEGIN, "---", "<!-- momentum:x -->", "x\n> Q: y"])
    )
    one = st.builds(
        Edit,
        op=st.sampled_from(["add", "replace", "delete", "example"]),
        anchor=anchors,
        section=st.sampled_from(["", "Rules", "## Rules", "Examples", "Appendix", "New", "# Title"]),
        text=inserted,
        answer=st.one_of(st.just(""), inserted),
        support=st.lists(st.sampled_from(["q1", "q2", "q3"]), max_size=3).map(tuple),
    )
    return draw(st.lists(one, max_size=5))


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[Edit], int, int, ApplyResult]:
    """A skill, edits, a budget, a cap, and what came of them."""
    skill = draw(skills())
    wanted, budget = draw(edits(skill)), draw(st.integers(0, 6))
    cap = draw(st.integers(0, estimated_tokens(skill) + 20))
    result = apply_edits(
        skill,
        wanted,
        budget=budget,
        fuzzy_threshold=80.0,
        token_cap=cap,
        leaks=lambda edit: "leak" if "\t" in edit.text else None,
    )
    return skill, wanted, budget, cap, result


# --- worked examples ----------------------------------------------------------------------
@quick
@given(skills(), st.lists(worked, max_size=3))
@example(HEADS[0], [Example("> quoted\nA: no\n\\A: no\n\n", "\\\\\nA: yes\n")])
def test_worked_examples_come_back_as_they_were(skill: str, wanted: list[Example]) -> None:
    assert examples(with_examples(skill, wanted)) == wanted


@quick
@given(skills(), st.lists(worked, max_size=3))
def test_putting_the_same_examples_in_again_changes_nothing(skill: str, wanted: list[Example]) -> None:
    once = with_examples(skill, wanted)
    assert with_examples(once, wanted) == once


@quick
@given(skills(), st.lists(worked, max_size=3))
def test_examples_leave_front_matter_momentum_and_appendix(skill: str, wanted: list[Example]) -> None:
    text = with_examples(skill, wanted)
    assert front_matter(text) == front_matter(skill)
    assert momentum(text) == momentum(skill)
    assert appendix_items(text) == appendix_items(skill)


@quick
@given(skills(), st.lists(worked, min_size=1, max_size=3))
def test_the_system_message_does_not_depend_on_the_examples(skill: str, wanted: list[Example]) -> None:
    assert rules_text(with_examples(skill, wanted)).split() == rules_text(skill).split()


# --- edits --------------------------------------------------------------------------------
@quick
@given(cases())
def test_there_is_one_report_per_edit_in_order(case: tuple[str, list[Edit], int, int, ApplyResult]) -> None:
    _, wanted, budget, _, result = case
    assert [report.edit for report in result.reports] == wanted
    assert result.clipped == (len(wanted) > budget)


@quick
@given(cases())
def test_at_most_the_budget_is_tried(case: tuple[str, list[Edit], int, int, ApplyResult]) -> None:
    _, wanted, budget, _, result = case
    over = [report for report in result.reports if report.status == "over_budget"]
    assert len(over) == max(0, len(wanted) - budget)


@quick
@given(cases())
def test_edits_never_reach_front_matter_or_momentum(
    case: tuple[str, list[Edit], int, int, ApplyResult],
) -> None:
    skill, _, _, _, result = case
    assert front_matter(result.text) == front_matter(skill)
    assert momentum(result.text) == momentum(skill)
    assert result.text.count(MOMENTUM_BEGIN) == skill.count(MOMENTUM_BEGIN)


@quick
@given(cases())
def test_the_result_is_always_a_skill(case: tuple[str, list[Edit], int, int, ApplyResult]) -> None:
    skill, _, _, _, result = case
    before, after = parse_skill(skill), parse_skill(result.text)
    assert (before.name, before.description) == (after.name, after.description)


@quick
@given(cases())
def test_a_skill_within_its_cap_stays_within_it(case: tuple[str, list[Edit], int, int, ApplyResult]) -> None:
    skill, _, _, cap, result = case
    assert estimated_tokens(result.text) <= max(cap, estimated_tokens(skill))


@quick
@given(cases())
def test_the_text_changes_when_and_only_when_an_edit_was_applied(
    case: tuple[str, list[Edit], int, int, ApplyResult],
) -> None:
    skill, _, _, _, result = case
    applied = [report for report in result.reports if report.status in ("applied", "applied_fuzzy")]
    assert applied or result.text == skill
    assert len(applied) != 1 or result.text != skill


@quick
@given(skills(), st.integers(1, 4))
def test_consolidation_keeps_all_but_the_appendix(skill: str, threshold: int) -> None:
    text = consolidate_appendix(skill, threshold)
    assert len(appendix_items(text)) <= max(threshold, 0)
    assert consolidate_appendix(text, threshold) == text
    assert (front_matter(text), momentum(text)) == (front_matter(skill), momentum(skill))
    assert examples(text) == examples(skill)


@quick
@given(skills(), lines)
def test_momentum_replaces_the_block_and_nothing_else(skill: str, guidance: str) -> None:
    text = with_momentum(skill, guidance)
    assert momentum(text) == guidance.strip()
    assert front_matter(text) == front_matter(skill)
    assert with_momentum(text, guidance) == text
