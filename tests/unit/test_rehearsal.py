"""The known-truth world: what is true in it, and that its actors answer by that truth."""

import json
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from skillmake.llm.types import ChatRequest, Message
from skillmake.questions import parse_questions
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.world import Unit, World
from tests.rehearsing import QUIET, needy, pack


@pytest.fixture(scope="module")
def world() -> World:
    return World(QUIET)


def ask(unit: Unit, system: str = "", *turns: Message) -> list[Message]:
    question = unit.questions[0]
    listed = "\n".join(f"- {option}" for option in question["options"])
    asked = {"role": "user", "content": f"{question['question']}\n\nOptions:\n{listed}"}
    return [{"role": "system", "content": system}, *turns, asked]


def rules(world: World, type_index: int = 0) -> str:
    return "\n".join(f"- {rule}" for rule in world.types[type_index].sentences["useful"])


def is_right(world: World, unit: Unit, system: str, **sampling: Any) -> bool:
    return world.answer(ask(unit, system), **sampling) == unit.answer


def test_a_world_follows_from_its_configuration_alone() -> None:
    assert World(QUIET).questions() == World(QUIET).questions()
    other = World(QUIET.model_copy(update={"seed": 2}))
    assert other.digest != World(QUIET).digest
    assert [q["question"] for q in other.questions()] != [q["question"] for q in World(QUIET).questions()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"harmful_share": 0.3}, "must be 1"),
        ({"rules_per_type": 2}, "must not exceed rules_per_type"),
        ({"base_accuracy": 0.6}, "must not exceed 1"),
        ({"unknown": 1}, "Extra inputs"),
        ({"options": 1}, "greater than or equal to 2"),
    ],
)
def test_impossible_configurations_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        WorldConfig(**change)


def test_every_field_is_described_and_has_a_default() -> None:
    fields = WorldConfig.model_fields.values()
    assert all(field.description and not field.is_required() for field in fields)


def test_questions_are_in_the_question_format(world: World) -> None:
    rows = world.questions()
    assert len(rows) == 2 * 24
    parsed = parse_questions("\n".join(map(json.dumps, rows)).encode(), "rehearsal")
    assert len({question.question for question in parsed}) == 48
    members = Counter(question.unit_id for question in parsed)
    assert Counter(members.values()) == {1: 32, 2: 8}
    assert all((q.unit_id == q.question_id) == (members[q.unit_id] == 1) for q in parsed)


def test_answer_positions_are_balanced(world: World) -> None:
    places = Counter((q["task_type"], q["options"].index(q["answer"])) for q in world.questions())
    assert set(places.values()) == {6}  # 24 questions a type, 4 options


def test_a_pair_asks_one_case_in_two_ways(world: World) -> None:
    pairs = [unit for unit in world.units.values() if len(unit.questions) == 2]
    assert len(pairs) == 8
    for unit in pairs:
        first, second = unit.questions
        assert first["question"] != second["question"]
        assert all(f"[case {unit.code}]" in question["question"] for question in unit.questions)
        assert first["options"] != second["options"]
        assert sorted(first["options"]) == sorted(second["options"])
        assert first["answer"] == second["answer"]


def test_questions_do_not_belong_to_the_callers(world: World) -> None:
    world.questions()[0]["options"].clear()
    assert all(len(question["options"]) == 4 for question in world.questions())


@pytest.mark.parametrize("config", [WorldConfig(), WorldConfig(types=40, rules_per_type=30)])
def test_sentences_are_distinct_and_none_is_part_of_another(config: WorldConfig) -> None:
    world = World(config)
    texts = [s for t in world.types for pool in t.sentences.values() for s in pool]
    assert len(set(texts)) == len(texts) == config.types * (config.rules_per_type + 360)
    assert all(s.count("When the ") == 1 and s.count(".") == 1 and s.startswith("When the ") for s in texts)


def test_sentences_of_all_kinds_are_counted(world: World) -> None:
    own, other = world.types
    useful, harmful, useless = (own.sentences[kind] for kind in ("useful", "harmful", "useless"))
    text = f"{useful[0]} {useful[1]}\n- {harmful[0]}{useless[0]} When the {useless[1]} {useful[0]}"
    assert (world.useful_count(text), world.harmful_count(text), world.useless_count(text)) == (2, 1, 2)
    assert world.useful_count(text, other.name) == 0
    assert world.useful_count(useful[0][:-1] + ", please.") == 0


def test_true_accuracy_by_hand(world: World) -> None:
    first, second = (task_type.name for task_type in world.types)
    assert world.true_accuracy({}).types == {first: 9 / 20, second: 9 / 20}
    taught = world.true_accuracy({first: rules(world)})
    assert taught.types == {first: 19 / 20, second: 9 / 20}
    assert taught.overall == pytest.approx(0.7)
    assert world.true_accuracy({first: rules(world, 1)}).types[first] == 9 / 20
    rule = world.types[0].sentences["useful"][0]
    only = sum(u.needs == frozenset({rule}) for u in world.units.values() if u.task_type == first)
    assert 0 < only < 10
    assert world.true_accuracy({first: rule}).types[first] == (9 + only) / 20


def test_true_accuracy_is_what_the_student_does(world: World) -> None:
    name = world.types[0].name
    text = rules(world) + world.types[0].sentences["harmful"][0]
    right = [is_right(world, unit, text) for unit in world.units.values() if unit.task_type == name]
    assert sum(right) / 20 == world.true_accuracy({name: text}).types[name] < 19 / 20


def test_the_student_is_right_iff_every_needed_sentence_is_there(world: World) -> None:
    unit = needy(world, 2)
    one, two = sorted(unit.needs or ())
    assert not is_right(world, unit, "")
    assert not is_right(world, unit, one)
    assert not is_right(world, unit, f"{one} {two[:-1]}")
    assert is_right(world, unit, f"Be brief.\n{two} {one}")
    assert world.answer(ask(unit)) in set(unit.options) - {unit.answer}
    lucky = needy(world, 0)
    assert is_right(world, lucky, "")


def test_only_the_system_text_teaches(world: World) -> None:
    unit = needy(world, 1)
    (rule,) = unit.needs or [""]
    turns: tuple[Message, ...] = ({"role": "user", "content": rule}, {"role": "assistant", "content": rule})
    assert world.answer(ask(unit, "", *turns)) != unit.answer
    assert world.answer(ask(unit, rule, *turns)) == unit.answer


def test_some_units_are_beyond_every_text(world: World) -> None:
    hopeless = [unit for unit in world.units.values() if unit.needs is None]
    assert len(hopeless) == 2
    assert not any(is_right(world, unit, rules(world) + rules(world, 1)) for unit in hopeless)


def test_a_harmful_sentence_turns_its_share_of_units_wrong() -> None:
    world = World(WorldConfig(types=1, units_per_type=400, base_accuracy=1, skill_gain=0, churn=0))
    name = world.types[0].name
    harmed = [1 - world.true_accuracy({name: s}).overall for s in world.types[0].sentences["harmful"][:5]]
    assert all(0.08 < share < 0.22 for share in harmed)  # .15, four standard errors of .018
    assert world.true_accuracy({name: " ".join(world.types[0].sentences["useless"])}).overall == 1


def test_harm_stays_within_its_type(world: World) -> None:
    first, second = world.types
    text = " ".join(first.sentences["harmful"])
    assert world.true_accuracy({second.name: text}).types[second.name] == 9 / 20
    assert world.true_accuracy({first.name: text}).types[first.name] < 2 / 20


def test_a_worked_example_teaches_one_rule_of_its_unit(world: World) -> None:
    unit = needy(world, 1)
    sibling = next(u for u in world.units.values() if u.needs == unit.needs and u.code != unit.code)
    question = sibling.questions[0]["question"]
    wrong = next(option for option in sibling.options if option != sibling.answer)

    def turns(answer: str) -> tuple[Message, ...]:
        return {"role": "user", "content": question}, {"role": "assistant", "content": answer}

    assert world.answer(ask(unit, "", *turns(sibling.answer))) == unit.answer
    assert world.answer(ask(unit, "", *turns(wrong))) != unit.answer
    assert world.answer(ask(unit, "", *turns("no idea"))) != unit.answer
    text = f"## Examples\nQuestion: {question}\nAnswer: {sibling.answer}\n"
    assert world.answer(ask(unit, text)) == unit.answer
    assert (
        world.answer(ask(unit, text.replace(f"Answer: {sibling.answer}", f"Answer: {wrong}"))) != unit.answer
    )
    name = unit.task_type
    bare = world.true_accuracy({name: ""}).types[name]
    assert world.true_accuracy({name: text}).types[name] > bare
    assert world.true_accuracy({}, {name: turns(sibling.answer)}).types[name] > bare


def test_an_example_of_the_asked_case_itself_gives_nothing_away(world: World) -> None:
    unit = needy(world, 1)
    turns: tuple[Message, ...] = (
        {"role": "user", "content": unit.questions[0]["question"]},
        {"role": "assistant", "content": unit.answer},
    )
    assert world.answer(ask(unit, "", *turns)) != unit.answer
    written = f"Question: {unit.questions[0]['question']}\nAnswer: {unit.answer}"
    assert world.answer(ask(unit, written)) != unit.answer


def test_labelled_examples_are_understood(world: World) -> None:
    unit = needy(world, 1)
    sibling = next(u for u in world.units.values() if u.needs == unit.needs and u.code != unit.code)
    question = sibling.questions[0]
    listed = "\n".join(f"{'ABCD'[i]}. {option}" for i, option in enumerate(question["options"]))
    label = "ABCD"[question["options"].index(sibling.answer)]
    user = {"role": "user", "content": f"{question['question']}\n{listed}"}
    assert world.answer(ask(unit, "", user, {"role": "assistant", "content": label})) == unit.answer


def test_churn_is_the_share_of_units_that_differ_between_two_texts() -> None:
    world = World(WorldConfig(types=1, units_per_type=1500, pair_share=0, churn=0.1))
    useless = world.types[0].sentences["useless"]
    units = list(world.units.values())
    one, two = ([is_right(world, unit, text) for unit in units] for text in useless[:2])
    share = sum(a != b for a, b in zip(one, two, strict=True)) / len(units)
    assert 0.07 < share < 0.13  # four standard errors of .0077
    assert one == [is_right(world, unit, useless[0]) for unit in units]


def test_noise_is_drawn_per_replicate_and_only_at_temperature() -> None:
    world = World(WorldConfig(types=1, units_per_type=1000, pair_share=0, churn=0, noise=0.1))
    units = list(world.units.values())
    calm = [is_right(world, unit, "") for unit in units]
    assert calm == [is_right(world, unit, "", replicate=1) for unit in units]
    draws = [[is_right(world, unit, "", temperature=0.7, replicate=r) for unit in units] for r in (0, 1)]
    for draw in draws:
        assert 0.06 < sum(a != b for a, b in zip(calm, draw, strict=True)) / 1000 < 0.14
    assert draws[0] != draws[1]


def test_no_known_case_no_answer(world: World) -> None:
    assert world.answer([{"role": "user", "content": "[case zzzzz] Where?"}]) == ""


def test_choices_are_texts_or_labels(world: World) -> None:
    unit = needy(world, 0)
    provider = RehearsalProvider(world)
    options = unit.questions[0]["options"]
    listed = "\n".join(f"({'ABCD'[i]}) {option}" for i, option in enumerate(options))
    messages = ({"role": "user", "content": f"{unit.questions[0]['question']}\n{listed}"},)
    assert provider.reply(ChatRequest(messages=messages, choices=tuple(options))).text == unit.answer
    label = "ABCD"[options.index(unit.answer)]
    assert provider.reply(ChatRequest(messages=messages, choices=tuple("ABCD"))).text == label
    assert provider.reply(ChatRequest(messages=messages)).text == f"Answer: {unit.answer}"
    assert provider.reply(ChatRequest(messages=messages, choices=("yes", "no"))).text in ("yes", "no")


def test_usage_and_identity(world: World) -> None:
    provider = RehearsalProvider(world, "judge")
    assert provider.identity == {"provider": "rehearsal", "world": world.digest, "role": "judge"}
    response = provider.reply(ChatRequest(messages=({"role": "user", "content": "x" * 400},)))
    assert response.prompt_tokens == 100
    assert response.completion_tokens == len(response.text) // 4


def test_an_answer_longer_than_its_limit_is_cut(world: World) -> None:
    request = ChatRequest(messages=tuple(pack(world)), max_tokens=10)
    response = RehearsalProvider(world, "teacher").reply(request)
    assert (response.finish, len(response.text)) == ("length", 40)
