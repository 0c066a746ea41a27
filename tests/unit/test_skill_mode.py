"""`agent.skill_mode` over whole runs: what a better skill changes, also where nobody reads it."""

from pathlib import Path

import pytest

from skillmake.rehearsal import looker
from tests.scripted import SKILL, Scripted, agent, call, calls, says, texts
from tests.unit.test_looker import HORSE, run, with_habits
from tests.worlds import question

# The video shows no horse; who has learned to doubt says so
SEED, LEARNED = with_habits(), with_habits(looker.DOUBT)


@pytest.mark.parametrize(
    ("mode", "answers", "reads_it"),
    [("inline", ("yes", "no"), False), ("tool", ("yes", "no"), True), ("off", ("yes", "yes"), False)],
)
def test_a_better_skill(tmp_path: Path, mode: str, answers: tuple[str, str], reads_it: bool) -> None:
    before, after = (run(tmp_path, HORSE, of, skill_mode=mode) for of in (SEED, LEARNED))
    assert (before.prediction, after.prediction) == answers
    assert [step.tool for step in after.steps].count("read_skill") == reads_it
    # Nothing that such a run follows from has changed: a gate looks it up and pays no call
    assert (before.run == after.run) == (mode == "off")
    assert (before.calls == after.calls) == (mode == "off")


def test_a_long_skill_is_read_whole(tmp_path: Path) -> None:
    """The last rule of a skill counts like the first, whatever a result of a search may be long."""
    path = "default-strategy/SKILL.md"
    long = texts().with_skill(path, SKILL + "- Look again.\n" * 900 + "- Last.\n", "test")
    student = Scripted(calls(call("read_skill")), says("yes"))
    (row,) = agent(student, tmp_path, skill_mode="tool", result_tokens=20).run([question("u1")], long)
    assert row.steps[0].result == long.skill("default")


def test_without_an_environment_the_skill_is_the_only_tool(tmp_path: Path) -> None:
    student = Scripted(calls(call("read_skill")), says("yes"))
    (row,) = agent(student, tmp_path, skill_mode="tool").run([question("u1")], texts())
    assert [tool["function"]["name"] for tool in student.requests[0].tools] == ["read_skill"]
    assert (row.right, row.steps[0].result.split("\n")[-2]) == (True, "- Look first.")
    for mode, shown in (("inline", True), ("off", False)):
        student = Scripted(says("yes"))
        agent(student, tmp_path / mode, skill_mode=mode).run([question("u1")], texts())
        assert ("Look first." in str(student.requests[0].messages)) is shown
        assert student.requests[0].tools == ()
