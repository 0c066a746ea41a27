"""A promoted seed: texts, questions and rollouts that a new run starts from at no cost (SPEC §2, seed)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillmake.agent.loop import Prediction
from skillmake.artifacts import Artifact, digest, read_json, read_model, sha256
from skillmake.config.load import hashed_part
from skillmake.config.models import Config
from skillmake.errors import DataError
from skillmake.questions import Question, load_questions
from skillmake.rollout import Rollout
from skillmake.runs import home


class Seed(Artifact):
    """Where a seed comes from, and with what its rollouts were made.

    `skills`, `prompts`: versions of the run; `questions`, `rollouts`: digests of the two files beside it.
    """

    run: str
    skills: str
    prompts: str
    student: dict[str, Any]
    agent: dict[str, Any]
    questions: str
    rollouts: str


@dataclass(frozen=True)
class Stored:
    """Rollouts that may stand for new ones, and why there are none if there are none."""

    rows: tuple[Prediction, ...] = ()
    why_not: str = ""


def promoted(run: str, rollout: Rollout, questions: Path, config: Config) -> Seed:
    """The seed that `rollout` of all `questions` makes; needs `models.student` and `agent`."""
    return Seed(
        run=run,
        skills=rollout.skills,
        prompts=rollout.prompts,
        student=hashed_part(config.models.student),
        agent=hashed_part(config.agent),
        questions=sha256(questions.read_bytes()),
        rollouts=digest(rollout),
    )


def read_stored(files: Sequence[Path], questions: Iterable[Question], config: Config) -> Stored:
    """Rollouts of a seed (`files`: its note, questions and rollouts) for questions that are the same.

    None when the student or the agent is another one. Raises DataError when a file was changed.
    """
    if not files:
        return Stored()
    note_file, questions_file, rollouts_file = files
    note, rollout = read_model(note_file, Seed), read_model(rollouts_file, Rollout)
    actual = {questions_file: sha256(questions_file.read_bytes()), rollouts_file: digest(rollout)}
    for (path, found), expected in zip(actual.items(), (note.questions, note.rollouts), strict=True):
        if found != expected:
            raise DataError(
                f"{path}: is not what was promoted", "promote the version again under another name"
            )
    now = {"models.student": hashed_part(config.models.student), "agent": hashed_part(config.agent)}
    other = [
        name for name, then in (("models.student", note.student), ("agent", note.agent)) if now[name] != then
    ]
    if other:
        return Stored(
            why_not=f"{note_file.parent}: its rollouts were made with another {' and '.join(other)}"
        )
    same = {question.question_id: question for question in load_questions(questions_file)}
    wanted = {question.question_id for question in questions if same.get(question.question_id) == question}
    return Stored(tuple(row for row in rollout.rows if row.question_id in wanted and row.right is not None))


def origin_text(run_dir: Path, kind: str) -> str:
    """A line on the version that was promoted to the seed of a run; none for a run without such a seed."""
    sources = read_json(run_dir / "data" / "baseline.json").get("derived_from", {})
    notes = [home(run_dir)[0] / name for name in sources if Path(name).match("seeds/*/seed.json")]
    if not notes or not notes[0].is_file():
        return ""
    seed = read_model(notes[0], Seed)
    version = {"skills": seed.skills, "prompts": seed.prompts}[kind]
    return (
        f"The seed comes from seeds/{notes[0].parent.name}, promoted as {kind} version {version} of run "
        f"{seed.run}: `skillmake lineage {version} --run {seed.run}`\n"
    )
