"""Calls, tokens and money of a run, counted by hand."""

from pathlib import Path

import pytest

from skillmake.config.endpoints import ModelConfig
from skillmake.errors import DataError
from skillmake.forecast import Cost, Stage, forecast, stage, total
from skillmake.plan_text import assumptions, cap_warnings
from skillmake.planning import Assumed, TypePlan, trial
from skillmake.skilltext import Example, with_examples
from skillmake.start import Start
from skillmake.texts import Texts, Version
from tests.starts import TEXTS, start

# Of 4 diagnosis units 2 are wrong; with round(2 * .4 / .6) = 1 right one a batch has 3 of them.
SIZES = {"alpha": (4, 6, 2)}
PLAN = TypePlan(
    task_type="alpha",
    diagnosis=4,
    validation=6,
    batch=3,
    ladder=7,
    gates=1,
    accept_wins=3,
    confirm_wins=7,
    units_no_op=3,
    units_good=5,
)
# "Answer.\n\ntext\n\nAnswer with exactly one of: yes; no." has 51 characters: 13 tokens.
# "Is alpha-d00 so?" has 16: 4 tokens; "yes" is one. A worked example has 5 tokens, four are shown.
SEED, TRAINED = 17, 37


def stages(of: Start) -> dict[str, Stage]:
    found = forecast(of, [PLAN], trial(of, Assumed()))
    return {row.stage: row for row in found}


def numbers(row: Stage) -> tuple[int, int, int]:
    return row.calls, row.prompt_tokens, row.answer_tokens


def test_calls_and_tokens_of_each_stage() -> None:
    found = stages(start(SIZES))
    assert {name: numbers(row) for name, row in found.items()} == {
        "baseline": (12, 12 * SEED, 12),
        "rollouts": (6, 6 * TRAINED, 6),  # a batch of 3 in each of two epochs
        "gates": (10, 10 * TRAINED, 10),  # one candidate on 5 units in each epoch
        "validations": (12, 12 * TRAINED, 12),
        "final test": (2, 2 * TRAINED, 2),
        "teacher": (0, 0, 0),
    }
    assert [row.bound for row in found.values()] == [
        "exactly", "at most", "about", "at most", "at most", "exactly",
    ]  # fmt: skip


def test_no_epoch_is_the_baseline_and_the_test() -> None:
    found = stages(start(SIZES, train={"epochs": 0}))
    assert [row.calls for row in found.values()] == [12, 0, 0, 0, 2, 0]


@pytest.mark.parametrize(
    ("gate", "calls"),
    [
        ({"replicates": 2}, 2 * (5 * 2 + 7)),  # the first draw of the baseline is known
        ({"fresh_baseline": True}, 2 * (5 + 7)),
        ({"replicates": 3, "fresh_baseline": True}, 2 * (5 * 3 + 7 * 3)),
    ],
)
def test_a_baseline_that_is_drawn_anew_costs_the_whole_ladder(gate: dict[str, object], calls: int) -> None:
    models = {"student": {"provider": "openai", "temperature": 0.5}}
    of = start(SIZES, gate=gate, models=models)
    assert stages(of)["gates"].calls == calls
    assert any("drawn anew" in line for line in assumptions(of.config, Assumed(), 1, 1))


@pytest.mark.parametrize(
    ("known", "nearest", "budget", "new"),
    [
        (0, 4, 24, 4),
        (0, 4, 2, 2),
        (0, None, 6, 6),
        (3, 4, 24, 1),
        (9, 4, 24, 0),
        (3, None, 2, 2),
    ],
)
def test_worked_examples_that_training_adds_to_a_prompt(
    known: int, nearest: int | None, budget: int, new: int
) -> None:
    skill = with_examples("text", [Example(f"Case {k}", "yes") for k in range(known)])
    texts = Texts(skills=Version.of({"alpha/SKILL.md": skill}, None, "seed"), prompts=TEXTS.prompts)
    evolve = {"edit_budget_start": budget, "edit_budget_end": 1}
    found = stages(start(SIZES, texts, agent={"nearest_examples": nearest}, evolve=evolve))
    seed, test = found["baseline"], found["final test"]
    assert test.prompt_tokens / 2 - seed.prompt_tokens / 12 == 5 * new


def test_an_answer_is_no_longer_than_the_model_may_answer() -> None:
    of = start(SIZES, models={"student": {"max_tokens": 2}})
    questions = {
        q: asked.model_copy(update={"answer": "a" * 40}) for q, asked in of.benchmark.questions.items()
    }
    of.benchmark.questions.update(questions)
    assert stages(of)["baseline"].answer_tokens == 12 * 2  # and not 12 * 10


def llm(templates: Path) -> Start:
    models = {"teacher": {"provider": "rehearsal", "model": "m", "max_tokens": 100, "price_out": 5.0}}
    return start(SIZES, models=models, evolve={"teacher": "llm", "templates": str(templates)})


def test_the_llm_teacher_is_asked_once_per_type_and_step(tmp_path: Path) -> None:
    text = "{{ assignment.task_type }}{% for case in assignment.pack.cases %} {{ case.right }}{% endfor %}"
    (tmp_path / "patch.md").write_text(text)
    found = stages(llm(tmp_path))
    # "alpha" with "True" and two "False" behind a blank each has 22 characters: 6 tokens
    assert numbers(found["teacher"]) == (2, 2 * 6, 2 * 100)
    assert found["teacher"].money == 0.001
    assert numbers(found["final test"]) == (2, 2 * SEED, 2)  # what a teacher writes is not known


def test_a_missing_template_is_found_before_anything_is_paid(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"patch\.md: no such prompt template"):
        stages(llm(tmp_path))


# --- sums -------------------------------------------------------------------------------
def test_money_is_per_million_tokens() -> None:
    model = ModelConfig(price_in=2.0, price_out=10.0)
    made = stage("gates", "about", [Cost(1000, 300, 10), Cost(0.5, 200, 3)], model)
    assert numbers(made) == (1000, 300_100, 10_002)  # 1000.5 calls, 300,100 and 10,001.5 tokens
    assert made.money == 0.700215  # .6002 + .100015


def test_all_is_the_sum_and_caps_below_it_are_warned_of() -> None:
    rows = [
        Stage(stage=name, bound="about", calls=3, prompt_tokens=100, answer_tokens=10, money=0.5)
        for name in ("one", "two")
    ]
    assert (numbers(total(rows)), total(rows).money) == ((6, 200, 20), 1.0)
    limits = {"max_calls": 5, "max_tokens": 220, "max_cost": 0.75}
    assert cap_warnings(rows, start(SIZES, limits=limits).config) == [
        "limits.max_calls: the run may need 6 and stops at 5",
        "limits.max_cost: the run may need 1 and stops at 0.75",
    ]
    assert cap_warnings(rows, start(SIZES).config) == []
