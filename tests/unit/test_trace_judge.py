"""Span evaluation of runs with tools, by the judge of the rehearsal world (SPEC §4)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.environments.tree import TreeEnvironment
from skillmake.agent.loop import Agent, Prediction
from skillmake.agent.trace import Step
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.config.models import Diagnose
from skillmake.judges.diagnosis import diagnose_by_judges
from skillmake.judges.steps import JudgedStep, judged_steps, sources
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.packs import Diagnosis
from skillmake.questions import Question, load_questions
from skillmake.rehearsal.habits import DOUBT, FIRST_WINDOW, KEEP_ALL, READ_ON, SKILL
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.trace_judge import STOPPED
from skillmake.rehearsal.world import World, WorldConfig
from skillmake.structured import Asker
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts
from tests.films import write_films
from tests.scripted import SKILL as SKILL_TEXT
from tests.scripted import texts
from tests.worlds import question, row

ROOT = Path(__file__).parents[2]
CONFIG = AgentConfig(environment="tree", options_in="question")
PROMPTS = {
    "tools/read_node/extract.md": "Write down what bears on the question.",
    "tools/search_captions/extract.md": "Keep the lines that may matter.",
}


class Films:
    """Films, with an agent and a judge of the rehearsal world."""

    def __init__(self, root: Path) -> None:
        write_films(root, 4)
        self.questions = {q.question_id: q for q in load_questions(root / "questions.jsonl")}
        self.environment = TreeEnvironment(CONFIG, root / "videos")
        self._root = root
        self._clients = {role: self._client(role) for role in ("student", "judge")}

    def _client(self, role: Any) -> Client:
        provider = RehearsalProvider(World(WorldConfig(types=1, units_per_type=12)), role)
        return Client(provider, role, CallCache(self._root / role), Meter(self._root, Caps(), role), slots=2)

    def answer(self, of: Texts) -> list[Prediction]:
        agent = Agent(self._clients["student"], ModelConfig(), CONFIG, self.environment)
        return agent.run(self.questions.values(), of)

    def diagnose(self, rows: list[Prediction], of: Texts) -> Diagnosis:
        model = ModelConfig(provider="rehearsal", model="judge", max_tokens=1000)
        return diagnose_by_judges(
            rows,
            self.questions,
            of,
            asker=Asker(self._clients["judge"], model, Templates(ROOT / "prompts/diagnose")),
            config=Diagnose(method="judges"),
            seed=(1,),
            source=sources(self.environment, 600),
        )

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@pytest.fixture
def films(tmp_path: Path) -> Iterator[Films]:
    made = Films(tmp_path)
    yield made
    made.close()


def steered(*habits: str, extract: str = PROMPTS["tools/read_node/extract.md"]) -> Texts:
    skill = SKILL_TEXT + "".join(f"- {habit}\n" for habit in habits)
    return texts({**PROMPTS, "tools/read_node/extract.md": extract}).with_skill(
        "default-strategy/SKILL.md", skill, "test"
    )


def test_an_extract_that_drops_what_is_needed_is_to_blame(films: Films) -> None:
    """Is there a dog? The windows that name it are read, and the extract drops it for one shared word."""
    of = steered(DOUBT)
    found = films.diagnose(films.answer(of), of)
    assert found.degraded == 0
    assert list(found.tools) == ["read_node"]
    cases = {case.question_id: case for case in found.tools["read_node"].cases}
    assert list(cases) == [f"v{k:02d}-pa" for k in range(4)]
    asked = cases["v00-pa"]
    assert (asked.verdict, asked.blame) == ("defect", "tool read_node")
    assert asked.notes[0] == "step 2 is flawed: The extract prompt of read_node left out what names dog"
    # Search sound, both windows and the answer flawed: 1 of 4; two of the four windows of the clip were read
    assert asked.missed == ("0.1.0", "0.1.1")
    assert found.soft["v00-pa"] == (1 / 4 + 2 / 4) / 2


def test_with_a_better_prompt_nothing_is_left_to_blame(films: Films) -> None:
    of = steered(DOUBT, extract=KEEP_ALL)
    rows = films.answer(of)
    assert all(row.right for row in rows)
    assert films.diagnose(rows, of).tools == {}


def test_who_answers_too_early_was_not_told_to_read_on(films: Films) -> None:
    """It reads the window in which the dog only sits in the field, and not the one found next."""
    text = {"question": "What does the dog of the field carry?", "options": ("shoe", "ball")}
    films.questions = {"v00-q": films.questions["v00-q"].model_copy(update=text)}
    early, told = (steered(*habits, extract=KEEP_ALL) for habits in ([FIRST_WINDOW], [FIRST_WINDOW, READ_ON]))
    rows = films.answer(early)
    found = films.diagnose(rows, early)
    (case,) = found.system.cases
    assert (case.prediction, case.verdict, case.blame) == ("shoe", "defect", "system")
    assert case.notes[-1] == f"defect: {STOPPED}"
    assert [row.prediction for row in films.answer(told)] == ["ball"]
    # Who was told and did not do it is not helped by more of the same
    assert films.diagnose(rows, told).system.cases == ()


def test_where_no_tool_dropped_anything_the_skill_is_to_blame(films: Films) -> None:
    """It says yes to everything: a hole in the skill; once the skill has all habits, a lapse."""
    for habits, verdict in (((), "defect"), (SKILL["useful"], "lapse")):
        of = steered(*habits, extract=KEEP_ALL)
        rows = films.answer(steered(extract=KEEP_ALL))
        found = films.diagnose(rows, of)
        wrong = [case for case in found.skill["there"].cases if not case.right]
        assert len(wrong) == 4
        assert {(case.verdict, case.blame) for case in wrong} == {(verdict, "skill")}
        assert (found.tools, found.degraded) == ({}, 0)


def test_steps_show_what_was_found_and_what_was_given() -> None:
    looked = Step(
        turn=1, tool="lens", arguments={"at": "é"}, outcome="found", result="A stamp.", nodes=("n1",)
    )
    again = looked.model_copy(update={"turn": 2, "outcome": "repeated", "result": "above", "nodes": ()})
    other = looked.model_copy(update={"turn": 2, "result": "The whole page.\n\nCheck: Enough."})
    run = row("q1", False, "c", steps=(looked, again, other), trace=("I look.", "", "So no."))

    def source(_: Question, step: Step) -> str:
        return "The whole page." if step.outcome == "found" else "not asked"

    assert judged_steps(run, question("q1"), source) == (
        JudgedStep('I look. calls lens {"at": "é"}; reads n1 whole', "A stamp.", "The whole page."),
        JudgedStep('calls lens {"at": "é"} (repeated)', "above"),
        JudgedStep('calls lens {"at": "é"}; reads n1 whole', "The whole page.\n\nCheck: Enough."),
        JudgedStep("So no."),
    )
    lost = run.model_copy(update={"stop_reason": "max_steps"})
    assert judged_steps(lost, question("q1"), None)[-1] == JudgedStep("gave no answer (max_steps)")
    assert judged_steps(row("q1", False, "c", trace=("a", "b")), question("q1"), None) == (
        JudgedStep("a"),
        JudgedStep("b"),
    )
