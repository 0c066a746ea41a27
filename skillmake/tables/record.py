"""The artefacts of a run that tables are made from, read by their place in the run's folder."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillmake.agent.loop import Prediction
from skillmake.artifacts import Model, read_model
from skillmake.benchmark import Benchmark
from skillmake.epoch_report import EpochReport
from skillmake.errors import DataError
from skillmake.holdout import Holdout
from skillmake.momentum import MomentumReport
from skillmake.packs import Diagnosis
from skillmake.prompts_update import SecondValidation
from skillmake.rollout import Rollout
from skillmake.scores import Scores, SoftScores
from skillmake.settle import GateResult
from skillmake.slow import Validation
from skillmake.tables.places import SEED_SOFT, START, TEST, place_of
from skillmake.texts import Texts


@dataclass(frozen=True)
class StepRecord:
    """A settled step. `texts`: what it started from."""

    epoch: int
    step: int
    texts: Texts
    rollout: Rollout
    diagnosis: Diagnosis
    gates: tuple[GateResult, ...]


@dataclass(frozen=True)
class EndRecord:
    """A slow update that is done. `start`: the epoch's first texts, `measured`: those of R, `settled`: behind
    the probations, `tried`: those of R2."""

    epoch: int
    start: Texts
    measured: Texts
    validation: Validation
    scores: Scores
    settled: Texts
    momentum: MomentumReport
    tried: Texts
    second: SecondValidation
    holdout: Holdout | None
    report: EpochReport


@dataclass(frozen=True)
class RunRecord:
    """What a run has finished, in order of time; `test` and the last epochs may still be to come.

    `seed_soft`: scores that judges gave the seed's wrong validation answers, by question.
    """

    benchmark: Benchmark
    seed: Texts
    baseline: Rollout
    seed_soft: dict[str, float]
    steps: tuple[StepRecord, ...]
    ends: tuple[EndRecord, ...]
    test: Rollout | None

    def measured_before(self, epoch: int) -> tuple[Texts, Sequence[Prediction]]:
        """The last texts fully validated before an epoch, with the rollouts: R2 where it was kept."""
        end = next((end for end in self.ends if end.epoch == epoch - 1), None)
        if end is None:
            return self.seed, self.baseline.rows
        if (kept := end.second.kept) is not None:
            return end.tried, kept.rows
        return end.measured, end.validation.rows


def read_record(files: Iterable[Path]) -> RunRecord:
    """Read the artefacts among `files`; DataError when the run has no baseline yet or a file is not valid."""
    paths = {place: path for path in files if (place := place_of(path)) is not None}
    missing = [place for place in START if place not in paths]
    if missing:
        raise DataError(f"{missing[0]}: not made yet", "tables begin with the baseline: train first")
    return RunRecord(
        benchmark=Benchmark.read(paths[START[0]], paths[START[1]]),
        seed=read_model(paths["data/texts.json"], Texts),
        baseline=read_model(paths["data/baseline.json"], Rollout),
        seed_soft=read_model(paths[SEED_SOFT], SoftScores).soft if SEED_SOFT in paths else {},
        steps=tuple(_steps(paths)),
        ends=tuple(_ends(paths)),
        test=read_model(paths[TEST], Rollout) if TEST in paths else None,
    )


def _read(paths: Mapping[str, Path], name: str, model: type[Model]) -> Model:
    return read_model(paths[f"{name}.json"], model)


def _texts_before(paths: Mapping[str, Path], epoch: int, step: int) -> Texts:
    """Texts that a step starts from."""
    if step > 1:
        return _read(paths, f"e{epoch:02d}/s{step - 1:03d}/texts", Texts)
    return _read(paths, f"e{epoch - 1:02d}/end/texts" if epoch > 1 else "data/texts", Texts)


def _steps(paths: Mapping[str, Path]) -> Iterator[StepRecord]:
    for place in sorted(paths):
        if (found := re.fullmatch(r"e(\d\d)/s(\d\d\d)/texts\.json", place)) is None:
            continue
        folder, epoch, step = place.removesuffix("/texts.json"), int(found[1]), int(found[2])
        gates = [paths[gate] for gate in sorted(paths) if gate.startswith(f"{folder}/gate/")]
        yield StepRecord(
            epoch=epoch,
            step=step,
            texts=_texts_before(paths, epoch, step),
            rollout=_read(paths, f"{folder}/rollout", Rollout),
            diagnosis=_read(paths, f"{folder}/diagnosis", Diagnosis),
            gates=tuple(read_model(path, GateResult) for path in gates),
        )


def _ends(paths: Mapping[str, Path]) -> Iterator[EndRecord]:
    for place in sorted(paths):
        if (found := re.fullmatch(r"e(\d\d)/end/report\.json", place)) is None:
            continue
        folder, epoch = place.removesuffix("/report.json"), int(found[1])
        steps = sum(re.fullmatch(rf"e{found[1]}/s\d\d\d/texts\.json", other) is not None for other in paths)
        holdout = f"{folder}/holdout"
        yield EndRecord(
            epoch=epoch,
            start=_texts_before(paths, epoch, 1),
            measured=_texts_before(paths, epoch, steps + 1),
            validation=_read(paths, f"{folder}/validation", Validation),
            scores=_read(paths, f"{folder}/scores", Scores),
            settled=_read(paths, f"{folder}/settled_texts", Texts),
            momentum=_read(paths, f"{folder}/momentum", MomentumReport),
            tried=_read(paths, f"{folder}/prompts_texts", Texts),
            second=_read(paths, f"{folder}/validation2", SecondValidation),
            holdout=_read(paths, holdout, Holdout) if f"{holdout}.json" in paths else None,
            report=_read(paths, f"{folder}/report", EpochReport),
        )
