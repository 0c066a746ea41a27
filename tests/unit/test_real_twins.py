"""The 76 real clip pairs: each is one unit wherever outcomes are counted."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from skillmake.agent.environments.tree import TreeEnvironment
from skillmake.agent.loop import Agent, Prediction
from skillmake.artifacts import canonical, write_text
from skillmake.batching import plan_batches
from skillmake.benchmark import Benchmark, split
from skillmake.candidate import Candidate
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.config.models import Config, Gate
from skillmake.gating import gate_candidate
from skillmake.import_tree import clip_questions, make_trees, read_captions, read_clip_pairs
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.metrics import test_result as sealed_test
from skillmake.prepare import initial_best, initial_state
from skillmake.questions import slug
from skillmake.rehearsal.habits import DOUBT
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.world import World, WorldConfig
from skillmake.scores import score
from skillmake.slow import validate
from skillmake.tables.pairs import change, outcomes_of
from skillmake.texts import Texts, Version, own_skills, read_seed
from skillmake.traces import soft_score
from skillmake.units import Unit, make_units

ROOT = Path(__file__).parents[2]
REAL = Path(os.environ.get("SKILLMAKE_REAL_DATA", ROOT / "../shared/data")) / "nextqa_tree"
pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="no nextqa_tree; set SKILLMAKE_REAL_DATA")
TYPES = {"twin object": 18, "twin relation": 38, "twin subject": 20}


class Twins:
    """The pairs, answered with the seed skill and with one that knows when to say no."""

    def __init__(self, root: Path) -> None:
        trees = make_trees(read_captions(REAL / "captions_1fps.json"), 4, 4)
        lines = (REAL / "questions.csv").read_text().splitlines()[1:]
        frames = {line.split(",")[0]: int(line.split(",")[1]) for line in lines}
        self.questions = clip_questions(read_clip_pairs(REAL / "videohallucer_twins.json"), trees, frames)
        for name in {question.video_id for question in self.questions}:
            write_text(root / "videos" / f"{name}.json", canonical(trees[str(name)]))
        self.config = Config()
        settings = AgentConfig(environment="tree", options_in="question", max_steps=6)
        provider = RehearsalProvider(World(WorldConfig(types=1, units_per_type=12)))
        self.client = Client(
            provider, "student", CallCache(root / "cache"), Meter(root, Caps(), "j"), slots=2
        )
        environment = TreeEnvironment(settings, root / "videos")
        self.agent = Agent(self.client, ModelConfig(), settings, environment)
        self.seed = self._seed()
        skills = {path: f"{text}- {DOUBT}\n" for path, text in self.seed.skills.files.items()}
        self.doubting = self.seed.with_skills(skills, "test")
        self.before = self.agent.run(self.questions, self.seed)
        self.after = self.agent.run(self.questions, self.doubting)
        self.units = make_units(self.questions)
        self.benchmark = Benchmark(self.questions, split(self.questions, self.config))

    def _seed(self) -> Texts:
        """Without prompts of the tools, which would triple the calls and change no count."""
        texts = read_seed(ROOT / "data/tree/skills", ROOT / "data/tree/prompts")
        prompts = Version.of({"system.md": texts.system}, None, "seed")
        return own_skills(Texts(skills=texts.skills, prompts=prompts), sorted(TYPES))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    made = Twins(tmp_path_factory.mktemp("twins"))
    yield made
    made.client.close()


def is_right(row: Prediction) -> float:
    return float(row.right is True)


def by_hand(
    rows: Sequence[Prediction], value: Callable[[Prediction], float] = is_right
) -> dict[str, list[float]]:
    """Values of the two questions of each pair; the pair is what stands before the last dash of an id."""
    ordered = sorted(rows, key=lambda row: row.question_id)
    pairs = groupby(ordered, key=lambda row: row.question_id.rpartition("-")[0])
    return {pair: [value(row) for row in both] for pair, both in pairs}


def right_pairs(rows: Sequence[Prediction]) -> dict[str, bool]:
    return {pair: values == [1.0, 1.0] for pair, values in by_hand(rows).items()}


def share(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6)


def inside(units: Sequence[Unit], of: dict[str, bool]) -> list[float]:
    return [float(of[unit.unit_id]) for unit in units]


def test_half_of_the_questions_right_may_be_no_pair_right(twins: Twins) -> None:
    """The seed says yes to everything: 76 of 152 questions, and not one pair."""
    assert (len(twins.questions), len(twins.units)) == (152, 76)
    assert Counter(unit.task_type for unit in twins.units) == TYPES
    assert share([is_right(row) for row in twins.before]) == 0.5
    assert sum(right_pairs(twins.before).values()) == 0
    single = share([is_right(row) for row in twins.after])
    assert 0 < share(inside(twins.units, right_pairs(twins.after))) < single


def test_no_pool_and_no_batch_cuts_a_pair(twins: Twins) -> None:
    split_ = split(twins.questions, twins.config)
    pools = [set(getattr(split_.pools, name)) for name in ("diagnosis", "validation", "test")]
    assert sum(map(len, pools)) == len(set.union(*pools)) == 76
    right = dict.fromkeys((unit.unit_id for unit in twins.benchmark.diagnosis), False)
    batches = plan_batches(
        twins.benchmark.diagnosis,
        right,
        batch_size=10,
        min_class_per_batch=2,
        batch_correct_ratio=0.4,
        seed=1,
    )
    dealt = [unit for batch in batches for unit in batch]
    assert sorted(dealt) == sorted(right)


def test_baseline_and_full_validation_count_pairs(twins: Twins) -> None:
    validation = twins.benchmark.validation
    assert initial_best(twins.seed, twins.before, twins.benchmark).best.accuracy == 0
    measured = validate(twins.doubting, twins.after, validation)
    right = right_pairs(twins.after)
    assert measured.accuracy == share(inside(validation, right))
    for task_type in TYPES:
        own = [unit for unit in validation if unit.task_type == task_type]
        assert measured.by_type[task_type] == share(inside(own, right))


def test_a_pair_is_one_win_at_the_gate(twins: Twins) -> None:
    best = initial_best(twins.seed, twins.before, twins.benchmark)
    state = initial_state(best, twins.seed, twins.before, twins.benchmark, twins.config)
    config = Gate(n_max=40, rung=40, futility=0)
    for task_type in TYPES:
        path = f"{slug(task_type)}/SKILL.md"
        candidate = Candidate(
            task_type=task_type,
            path=path,
            status="proposed",
            parent="",
            text=twins.doubting.skills.files[path],
            budget=1,
        )
        units = twins.benchmark.ladder_units(task_type, use_diagnosis=True)
        result = gate_candidate(candidate, twins.seed, state, units, twins.agent, config, (1, task_type))
        assert result.decision is not None
        before, after = right_pairs(twins.before), right_pairs(twins.after)
        used = [row.unit_id for row in result.decision.evidence]
        numbers = result.decision.numbers
        assert len(set(used)) == len(used) == numbers.n <= TYPES[task_type]
        assert numbers.wins == sum(after[unit] and not before[unit] for unit in used) > 0
        assert numbers.losses == sum(before[unit] and not after[unit] for unit in used)
        # Both questions of a unit are asked, and both sides
        asked = Counter(row.unit_id for row in result.candidate_rows)
        assert set(asked.values()) == {2}


def test_scores_of_pairs(twins: Twins) -> None:
    """Hard: the pair. Soft: the mean of its two questions, so that one of two right counts something."""
    validation = twins.benchmark.validation
    for rows, texts in ((twins.before, twins.seed), (twins.after, twins.doubting)):
        found = score(validate(texts, rows, validation), validation, {})
        soft = by_hand(rows, soft_score)
        assert found.units == len(validation)
        assert found.overall.hard == share(inside(validation, right_pairs(rows)))
        assert found.overall.soft == pytest.approx(
            share([share(soft[unit.unit_id]) for unit in validation]), abs=1e-5
        )


def test_the_result_and_the_quadrants_count_pairs(twins: Twins) -> None:
    before, after = right_pairs(twins.before), right_pairs(twins.after)
    result = sealed_test(twins.units, twins.before, twins.after, 1)
    assert (result["units"], result["seed"]["accuracy"]) == (76, 0.0)
    assert result["gain"] == result["delivered"]["accuracy"] == share(inside(twins.units, after))
    assert {name: part["units"] for name, part in result["by_type"].items()} == TYPES
    sides = [outcomes_of(twins.units, rows) for rows in (twins.before, twins.after)]
    quadrants = Counter(
        change(float(sides[0][name] is True), float(sides[1][name] is True)) for name in before
    )
    assert quadrants == {
        "improved": sum(after.values()),
        "persistent_fail": 76 - sum(after.values()),
    }
