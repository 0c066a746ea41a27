"""Step 6 of the slow update with real rollouts: samples under both texts, guidance, gate (SPEC §7.6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillmake.agent.loop import Agent, Prediction
from skillmake.benchmark import Benchmark, questions_of
from skillmake.config.models import Gate, Slow
from skillmake.gating import drawing, draws_of
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
from skillmake.noninferiority import check_harm
from skillmake.questions import Question
from skillmake.state import State
from skillmake.texts import Texts

# Rollouts of questions with given texts, checked for errors.
Answer = Callable[[Sequence[Question], Texts], list[Prediction]]
FIRST_DRAW = 10**6  # far beyond the steps of a run, so that no gate draws the same ones later


@dataclass(frozen=True)
class MomentumGate:
    """Judges a momentum text on the ladder of each of its task types; `seed` ends in the epoch."""

    agent: Agent
    state: State
    benchmark: Benchmark
    config: Gate
    slow: Slow
    seed: tuple[object, ...]

    def judge(self, file: FileMomentum, now: Texts) -> FileMomentum:
        """The file, rejected when its text is shown to be worse than that in `now` (`check_harm`)."""
        changed = now.with_skill(file.path, file.text, "momentum")
        return judged(file, [self._check(file, task_type, now, changed) for task_type in file.task_types])

    def _check(self, file: FileMomentum, task_type: str, now: Texts, changed: Texts) -> TypeCheck:
        units = self.benchmark.ladder_units(task_type, use_diagnosis=self.config.use_diagnosis)
        outcomes = self.state.unit_outcomes(units)
        shown = {sample.unit_id for sample in file.samples}
        seed = ("momentum", *self.seed, task_type)
        ladder = build_ladder(units, shown, self.state.p_hat, outcomes, self.config, seed)
        draws = draws_of(self.config, FIRST_DRAW + self.state.epoch)
        baseline_rows: list[Prediction] = []
        changed_rows: list[Prediction] = []
        check = check_harm(
            ladder,
            drawing(self.agent, now, draws, self.state.correctness, baseline_rows),
            drawing(self.agent, changed, draws, {}, changed_rows),
            self.config,
            harm_at=self.slow.e_rollback,
            margin=self.slow.momentum_margin,
        )
        return TypeCheck(
            task_type=task_type,
            check=check,
            baseline_rows=tuple(baseline_rows),
            changed_rows=tuple(changed_rows),
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
    before, after = answer(asked, start), answer(asked, now)
    old, new = ({row.question_id: row for row in rows} for rows in (before, after))
    guard = LeakGuard(benchmark.held_out)
    found = []
    for path, types in files.items():
        samples = compare(questions[path], old, new)
        file = write_guidance(path, types, now.skills.files[path], samples, teacher, guard, token_cap)
        found.append(gate.judge(file, now) if gate and file.status == "accepted" else file)
    return MomentumReport(files=tuple(found), rows=(*before, *after))
