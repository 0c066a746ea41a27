"""The benchmark of a run: its questions, frozen pools, and the types that can be trained."""

from collections.abc import Sequence
from pathlib import Path

from skillmake.artifacts import Artifact, read_model
from skillmake.config.models import Config
from skillmake.pools import Pools, dropped_types, split_pools
from skillmake.questions import Question, load_questions, slug
from skillmake.units import Unit, make_units


class Split(Artifact):
    """Frozen pools, the task types that are trained, and why the others are not."""

    pools: Pools
    trainable: tuple[str, ...]
    dropped: dict[str, str]


def split(questions: Sequence[Question], config: Config) -> Split:
    """Pools and untrainable types (SPEC §3); uses `seed`, `task_types`, `data.pools` and `train`."""
    units = make_units(questions)
    shares = config.data.pools
    pools = split_pools(units, (shares.diagnosis, shares.validation, shares.test), config.seed)
    kept, dropped = dropped_types(
        units,
        pools,
        config.train.eval_min_per_class,
        config.train.trainable_min_units,
        config.task_types,
    )
    return Split(pools=pools, trainable=tuple(kept), dropped=dropped)


class Benchmark:
    """Questions and units by pool. Diagnosis and validation hold trainable types only; test is not
    filtered by type."""

    def __init__(self, questions: Sequence[Question], split: Split) -> None:
        self.questions = {question.question_id: question for question in questions}
        self.units = {unit.unit_id: unit for unit in make_units(questions)}
        self.trainable = split.trainable
        self.diagnosis = self._trainable(split.pools.diagnosis)
        self.validation = self._trainable(split.pools.validation)
        self.test = [self.units[unit_id] for unit_id in split.pools.test]
        self.held_out = [
            question
            for unit_id in (*split.pools.validation, *split.pools.test)
            for question in self.units[unit_id].questions
        ]

    @classmethod
    def read(cls, questions: Path, split_path: Path) -> "Benchmark":
        return cls(load_questions(questions), read_model(split_path, Split))

    def type_of(self, name: str) -> str:
        """The trainable task type whose slug is `name`."""
        return next(task_type for task_type in self.trainable if slug(task_type) == name)

    def ladder_units(self, task_type: str, *, use_diagnosis: bool) -> list[Unit]:
        """Units that may judge a candidate of the type (SPEC §6, Ladder)."""
        pool = [*self.validation, *self.diagnosis] if use_diagnosis else self.validation
        return [unit for unit in pool if unit.task_type == task_type]

    def _trainable(self, unit_ids: Sequence[str]) -> list[Unit]:
        found = [self.units[unit_id] for unit_id in unit_ids]
        return [unit for unit in found if unit.task_type in self.trainable]


def questions_of(units: Sequence[Unit]) -> list[Question]:
    return [question for unit in units for question in unit.questions]
