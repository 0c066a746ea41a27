"""The student that looks things up in a video tree: by hand, in process and over HTTP the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.environments.tree import TreeEnvironment
from skillmake.agent.loop import Agent, Prediction
from skillmake.artifacts import canonical, write_text
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.openai_provider import OpenAIProvider
from skillmake.llm.types import Provider
from skillmake.questions import Question
from skillmake.rehearsal import habits, looker
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.server import ServerConfig, serve
from skillmake.rehearsal.world import World
from skillmake.texts import Texts
from skillmake.windows import Caption, tree_from_captions
from tests.scripted import SKILL, texts

WORLD = WorldConfig(types=1, units_per_type=12)
SCENES = [
    "A grey cat sleeps on a sofa.",
    "A dog stands at the door.",
    "A dog runs over the grass. The dog carries a yellow ball.",
    "A woman paints a fence.",
    "The dog drops the ball into a pond.",
    "Ducks swim away.",
]
CHOICES = ["a stick", "a yellow ball", "a shoe"]


def ask(text: str, options: list[str], answer: str, **more: Any) -> Question:
    value = {"question_id": "q", "task_type": "alpha", "question": text, "options": options, "answer": answer}
    return Question.model_validate({**value, "video_id": "v", **more})


CARRIES = ask("What does the running dog carry?", CHOICES, "a yellow ball")
CAT = ask("Is there a cat in the video?", ["yes", "no"], "yes")
HORSE = ask("Is there a horse in the video?", ["yes", "no"], "no")


def with_habits(*told: str, prompts: dict[str, str] | None = None) -> Texts:
    skill = SKILL + "".join(f"- {habit}\n" for habit in told)
    return texts(prompts).with_skill("default-strategy/SKILL.md", skill, "test")


def run(
    root: Path, question: Question, of: Texts, provider: Provider | None = None, **config: Any
) -> Prediction:
    rows = [Caption(start=k, end=k + 1, text=text) for k, text in enumerate(SCENES)]
    tree = tree_from_captions("v", rows, window_s=1, fanout=3)
    write_text(root / "videos/v.json", canonical(tree))
    provider = provider or RehearsalProvider(World(WORLD), "student")
    meter = Meter(root / "log", Caps(), "job")
    client = Client(provider, "student", CallCache(root / "cache"), meter, slots=2, retries=0)
    settings = AgentConfig(environment="tree", options_in="question", **config)
    try:
        agent = Agent(client, ModelConfig(), settings, TreeEnvironment(settings, root / "videos"))
        return agent.run([question], of)[0]
    finally:
        client.close()


def did(row: Prediction) -> list[tuple[int, str, Any]]:
    return [(step.turn, step.tool, next(iter(step.arguments.values()), "")) for step in row.steps]


def test_it_searches_reads_and_answers_by_what_it_read(tmp_path: Path) -> None:
    row = run(tmp_path, CARRIES, with_habits())
    # "running" and "carry" are no words of a caption; 0.0.2 names the dog twice, 0.0.1 in the fewest words
    assert did(row) == [
        (1, "search_captions", "running dog carry"),
        (2, "read_node", "0.0.2"),
        (2, "read_node", "0.0.1"),
    ]
    assert (row.prediction, row.right, row.stop_reason) == ("a yellow ball", True, "answered")
    assert [step.nodes for step in row.steps] == [(), ("0.0.2",), ("0.0.1",)]


def test_a_habit_changes_what_is_read_and_so_the_answer(tmp_path: Path) -> None:
    poor, good = run(tmp_path, CARRIES, with_habits()), run(tmp_path, CARRIES, with_habits(habits.READ_MANY))
    assert {node for step in good.steps for node in step.nodes} > {n for s in poor.steps for n in s.nodes}
    assert good.prediction == "a yellow ball"
    options = run(tmp_path, CARRIES, with_habits(habits.SEARCH_OPTIONS))
    searches = [what for _, tool, what in did(options) if tool == "search_captions"]
    assert searches == ["running dog carry", "stick", "yellow ball", "shoe"]
    none = run(tmp_path, CARRIES, with_habits(habits.READ_NONE))
    assert not any(step.nodes for step in none.steps)
    assert none.prediction == CHOICES[0]
    assert run(tmp_path, CARRIES, with_habits(habits.SHORTEST)).prediction == "a shoe"


def test_it_says_yes_until_it_learns_to_doubt(tmp_path: Path) -> None:
    assert [run(tmp_path, q, with_habits()).prediction for q in (CAT, HORSE)] == ["yes", "yes"]
    doubting = with_habits(habits.DOUBT)
    assert [run(tmp_path, q, doubting).prediction for q in (CAT, HORSE)] == ["yes", "no"]


def test_it_walks_down_to_the_scope(tmp_path: Path) -> None:
    asked = HORSE.model_copy(update={"scope": {"span": [4.0, 5.0]}})
    row = run(tmp_path, asked, with_habits(habits.WALK))
    assert [(tool, what) for _, tool, what in did(row)][1:] == [
        ("list_children", "0"),
        ("list_children", "0.1"),
        ("read_node", "0.1.1"),
    ]
    assert row.evidence == ("0.1.1",)


def test_it_reads_its_skill_by_the_tool(tmp_path: Path) -> None:
    row = run(tmp_path, HORSE, with_habits(habits.DOUBT), skill_mode="tool")
    assert did(row)[0][:2] == (1, "read_skill")
    assert row.prediction == "no"
    assert run(tmp_path, HORSE, with_habits(habits.DOUBT), skill_mode="off").prediction == "yes"


def test_before_and_after_it_reads_the_neighbour(tmp_path: Path) -> None:
    for word, beside in (("after", []), ("before", [("read_node", "0.0.1")])):
        asked = ask(f"What happens {word} the dog runs over the grass?", ["a fence", "a door"], "a fence")
        row = run(tmp_path, asked, with_habits(habits.AROUND, habits.FIRST_WINDOW))
        # 0.0.2 is found; it is the last window below 0.0, so nothing comes after it there
        assert [(tool, what) for _, tool, what in did(row)][1:] == [
            ("list_children", "0.0"),
            ("read_node", "0.0.2"),
            *beside,
        ]


def test_it_reads_on_until_an_option_stands_out(tmp_path: Path) -> None:
    """The dog is in three windows, the pond in the third."""
    asked = ask("Where is the dog at last?", ["a tent", "a pond"], "a pond")
    rows = [run(tmp_path, asked, with_habits(*told)) for told in ((), (habits.READ_ON,))]
    reads = [[what for _, tool, what in did(row) if tool == "read_node"] for row in rows]
    assert reads == [["0.0.2", "0.0.1"], ["0.0.2", "0.0.1", "0.1.1"]]
    assert [row.prediction for row in rows] == ["a tent", "a pond"]
    # Here the ball stands out at once
    assert did(run(tmp_path, CARRIES, with_habits(habits.READ_ON))) == did(
        run(tmp_path, CARRIES, with_habits())
    )


def test_it_counts_sentences_where_it_is_told_to(tmp_path: Path) -> None:
    """Both options are named whole; the dog in more sentences."""
    asked = ask("What is there with the dog?", ["a door", "a dog"], "a dog")
    keeping = {"tools/read_node/extract.md": habits.KEEP_ALL}
    assert run(tmp_path, asked, with_habits(habits.READ_MANY, prompts=keeping)).prediction == "a door"
    told = with_habits(habits.READ_MANY, habits.COUNT, prompts=keeping)
    assert run(tmp_path, asked, told).prediction == "a dog"


def test_what_the_extract_prompt_drops_it_does_not_know(tmp_path: Path) -> None:
    plain = {"tools/read_node/extract.md": "Write down what bears on the question."}
    keeping = {"tools/read_node/extract.md": f"Write down what bears on it. {habits.KEEP_ALL}"}
    doubting = [run(tmp_path, CAT, with_habits(habits.DOUBT, prompts=each)) for each in (plain, keeping)]
    assert [row.prediction for row in doubting] == ["no", "yes"]
    assert [step.result for step in doubting[0].steps if step.nodes] == [
        "Node 0.0.0, 0-1 s, inside of 0.0, leaf."
    ]


def test_it_searches_for_what_the_checks_name_as_missing(tmp_path: Path) -> None:
    asked = ask("Does the cat see the ducks?", ["yes", "no"], "no")
    naming = {"tools/read_node/verify.md": f"Say in one sentence what is missing. {habits.NAME_MISSING}"}
    rows = [run(tmp_path, asked, with_habits(habits.FIRST_WINDOW, prompts=each)) for each in ({}, naming)]
    searches = [[what for _, tool, what in did(row) if tool == "search_captions"] for row in rows]
    assert searches == [["cat see ducks"], ["cat see ducks", "cat see"]]
    assert rows[1].steps[1].verdict == "Look further: cat see."


@pytest.mark.parametrize("told", [(), (habits.SEARCH_OPTIONS, habits.READ_MANY)])
def test_over_http_it_does_the_same(tmp_path: Path, told: tuple[str, ...]) -> None:
    of = with_habits(*told, prompts={"tools/read_node/extract.md": habits.KEEP_ALL})
    inside = run(tmp_path / "inside", CARRIES, of)
    with serve(ServerConfig(world=WORLD)) as (url, _):
        model = ModelConfig(provider="openai", model="rehearsal-student", base_url=f"{url}/v1")
        outside = run(tmp_path / "outside", CARRIES, of, OpenAIProvider(model, 20))
    assert outside.steps == inside.steps
    assert (outside.prediction, outside.trace) == (inside.prediction, inside.trace)
    assert len(outside.steps) > 2


def looks(tree: tuple[str, ...], span: list[float] | None = None, captions: bool = False) -> list[Any]:
    """Calls of the student whose windows at the leaves are `tree`, up to its answer."""
    asked = f"What colour is it?\n\nOptions:\n- red\n- blue\n\nVideo v: 4 s, root node {tree[0]}, 2 windows."
    said = asked + (f" The question is about {span[0]:g}-{span[1]:g} s." if span else "")
    lines = {name: f"{name} [{k}-{k + 1} s, leaf] A wall." for k, name in enumerate(tree[1:])}
    found = next(iter(lines.values())) if captions else "No caption has a word of it."
    gives = {"search_captions": found, "list_children": "\n".join(lines.values()) or "Node 0 is a leaf."}
    tools = [{"function": {"name": name}} for name in (*gives, "read_node", "view_frames")]
    messages: list[Any] = [{"role": "system", "content": ""}, {"role": "user", "content": said}]
    made: list[Any] = []
    while (answer := looker.turn(messages, tools)).tool_calls:
        messages.append({"role": "assistant", "tool_calls": list(answer.tool_calls)})
        for part in answer.tool_calls:
            name, arguments = part["function"]["name"], json.loads(part["function"]["arguments"])
            messages.append({"role": "tool", "content": gives.get(name, "Picture 1 is mostly blue.")})
            made.append((name, *arguments.values()))
    return [*made, answer.text]


def test_it_looks_at_pictures_where_captions_say_nothing() -> None:
    search, walk = ("search_captions", "colour"), ("list_children", "0")
    whole = [search, ("view_frames", "0"), "Answer: blue"]
    assert looks(("0", "0.0", "0.1")) == whole
    inside = [search, walk, ("view_frames", "0.1"), "Answer: blue"]
    assert looks(("0", "0.0", "0.1"), [1, 2]) == inside
    assert looks(("0",), [1, 2]) == [search, walk, *whole[1:]]
    read = [search, ("read_node", "0.0"), "Answer: blue"]
    assert looks(("0", "0.0", "0.1"), [1, 2], captions=True) == read
