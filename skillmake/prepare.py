"""What the loop starts from: the seed as first best version, and the initial state (SPEC §3)."""

from collections.abc import Mapping, Sequence

from skillmake.agent.loop import Prediction
from skillmake.batching import total_steps
from skillmake.benchmark import Benchmark
from skillmake.config.models import Config
from skillmake.plan import batches_of
from skillmake.scores import score
from skillmake.slow import BestReport, Leader, validate
from skillmake.state import Best, State, VersionNote, observe
from skillmake.texts import Texts


def initial_best(
    texts: Texts, rows: Sequence[Prediction], benchmark: Benchmark, soft: Mapping[str, float] | None = None
) -> BestReport:
    """The seed is a measured version: its validation accuracy comes from the baseline rollouts.

    `soft`: scores that judges gave wrong answers, by question.
    """
    validation = validate(texts, rows, benchmark.validation)
    best = Best(
        skills=texts.skills.digest,
        prompts=texts.prompts.digest,
        accuracy=validation.accuracy,
        epoch=0,
    )
    mixed = score(validation, benchmark.validation, soft or {}).overall.mixed
    return BestReport(
        best=best, texts=texts, promoted=True, by_mixed=Leader(mixed=mixed, epoch=0, texts=texts)
    )


def initial_state(
    report: BestReport, texts: Texts, rows: Sequence[Prediction], benchmark: Benchmark, config: Config
) -> State:
    """Correctness of diagnosis and validation from the baseline; test outcomes never enter the state."""
    units = [*benchmark.diagnosis, *benchmark.validation]
    inside = {question.question_id for unit in units for question in unit.questions}
    known = [row for row in rows if row.question_id in inside]
    state = State(
        epoch=0,
        step=0,
        total_steps=1,
        correctness=observe({}, known),
        best=report.best,
        versions=seed_notes(texts),
    )
    trial = batches_of(state, 1, benchmark.diagnosis, config.train, config.seed)
    selected = sum(len(batch) for batch in trial)
    steps = max(1, total_steps(selected, config.train.batch_size, config.train.epochs))
    return state.model_copy(update={"total_steps": steps})


def seed_notes(texts: Texts) -> tuple[VersionNote, ...]:
    """The seed skills and prompts as the versions without a parent."""
    return tuple(
        VersionNote(
            digest=version.digest,
            parent=None,
            kind=kind,
            source="seed",
            epoch=0,
            step=0,
            description="seed",
        )
        for kind, version in (("skills", texts.skills), ("prompts", texts.prompts))
    )
