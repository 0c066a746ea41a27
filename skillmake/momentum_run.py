"""Step 6 of the slow update with real rollouts: samples under both texts, guidance, gate (SPEC §7.6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillmake.agent.loop import Agent, Prediction, Rollouts
from skillmake.benchmark import Benchmark, questions_of
from skillmake.config.models import Gate, Slow
from skillmake.gating import Side, draw_sides, draws_of
from skillmake.guards import LeakGuard
from skillmake.ladder import build_ladder
from skillmake.momentum import (
    FileMomentum,
    MomentumReport,
    MomentumTeacher,
    TypeCheck,
    changed_files,
    compare,
    judged,
    sample_units,
    write_guidance,
)
from skillmake.noninferiority import HarmCheck, Outcomes, check_harm
from skillmake.rounds import Play, in_rounds
from skillmake.state import State
from skillmake.texts import Texts
from skillmake.units import Unit

# Rollouts made together, checked for errors.
Answer = Callable[[Sequence[Rollouts]], list[list[Prediction]]]
FIRST_DRAW = 10**6  # far beyond the steps of a run, so that no gate draws the same ones later


@dataclass(frozen=True)
class MomentumGate:
    """Judges momentum texts on the ladders of their task types; `seed` ends in the epoch."""

    agent: Agent
    state: State
    benchmark: Benchmark
    config: Gate
    slow: Slow
    seed: tuple[object, ...]

    def judge(self, files: Sequence[FileMomentum], now: Texts) -> list[FileMomentum]:
        """The files, each rejected when its text is shown to be worse than that in `now` (`check_harm`).

        A task type reads one file, so its rollouts are the same whatever else is changed beside that.
        """
        checks = [self._check(file, task_type) for file in files for task_type in file.task_types]
        changed = now.with_skills({file.path: file.text for file in files}, "momentum")
        draws = draws_of(self.config, FIRST_DRAW + self.state.epoch)
        old, new = Side(now, self.state.correctness), Side(changed)

        def roll_out(units: Sequence[Unit]) -> list[Outcomes]:
            return list(zip(*draw_sides(self.agent, [old, new], draws, units), strict=True))

        found = iter(in_rounds(checks, roll_out))
        return [judged(file, [_of_type(t, next(found), old, new) for t in file.task_types]) for file in files]

    def _check(self, file: FileMomentum, task_type: str) -> Play[Unit, Outcomes, HarmCheck]:
        units = self.benchmark.ladder_units(task_type, use_diagnosis=self.config.use_diagnosis)
        outcomes = self.state.unit_outcomes(units)
        shown = {sample.unit_id for sample in file.samples}
        seed = ("momentum", *self.seed, task_type)
        ladder = build_ladder(units, shown, self.state.p_hat, outcomes, self.config, seed)
        return check_harm(ladder, self.config, harm_at=self.slow.e_rollback, margin=self.slow.momentum_margin)


def _of_type(task_type: str, check: HarmCheck, old: Side, new: Side) -> TypeCheck:
    return TypeCheck(
        task_type=task_type,
        check=check,
        baseline_rows=tuple(row for row in old.rows if row.task_type == task_type),
        changed_rows=tuple(row for row in new.rows if row.task_type == task_type),
    )


def run_momentum(
    start: Texts,
    now: Texts,
    benchmark: Benchmark,
    answer: Answer,
    teacher: MomentumTeacher,
    gate: MomentumGate | None,
    *,
    most_samples: int,
    token_cap: int,
    seed: tuple[object, ...],
) -> MomentumReport:
    """Guidance for each skill file that differs between `start`, the epoch's first texts, and `now`.

    `gate`: None lets every guidance in. `most_samples`: questions per file. `seed` ends in the epoch.
    """
    files = changed_files(start, now, benchmark.trainable)
    if not files:
        return MomentumReport(reason="no skill file changed")
    questions = {
        path: questions_of(sample_units(benchmark.diagnosis, types, most_samples, (*seed, path)))
        for path, types in files.items()
    }
    asked = [question for own in questions.values() for question in own]
    # What the state knows of a question is no answer that could be compared; the call cache has it.
    before, after = answer([Rollouts(asked, start), Rollouts(asked, now)])
    old, new = ({row.question_id: row for row in rows} for rows in (before, after))
    comparisons = [
        compare(path, types, now.skills.files[path], questions[path], old, new)
        for path, types in files.items()
    ]
    written = write_guidance(comparisons, teacher, LeakGuard(benchmark.held_out), token_cap)
    if gate is not None:
        gated = gate.judge([file for file in written if file.status == "accepted"], now)
        after_gate = {file.path: file for file in gated}
        written = [after_gate.get(file.path, file) for file in written]
    return MomentumReport(files=tuple(written), rows=(*before, *after))
