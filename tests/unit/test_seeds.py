"""A promoted seed: its rollouts stand for new ones, and only for the very same (SPEC §2)."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.factory import answer_all
from skillmake.artifacts import canonical, digest, sha256, write_text
from skillmake.config.load import parse_config
from skillmake.config.models import Config
from skillmake.errors import DataError
from skillmake.job import Job
from skillmake.questions import Question, dump_questions
from skillmake.rollout import Rollout
from skillmake.seeds import origin_text, promoted, read_stored
from skillmake.source import run_questions
from skillmake.texts import Texts, seed_texts

WORLD = {
    "data": {"questions": "rehearsal", "skills": "data/seed", "prompts": "data/seed/prompts"},
    "models": {"student": {"provider": "rehearsal", "model": "rehearsal-student"}},
    "rehearsal": {"types": 1, "units_per_type": 6, "rules_per_type": 2, "rules_per_unit_max": 1},
}
FILES = [Path("seed.json"), Path("questions.jsonl"), Path("baseline.json")]


def world(**agent: object) -> Config:
    return parse_config({**WORLD, "agent": agent})


class Promoted:
    """The questions, texts and rollouts of a run in the world, and the seed made of them."""

    def __init__(self, root: Path) -> None:
        self.root, self.config = root, world()
        self.questions = run_questions(self.config, None)
        self.texts = seed_texts(self.config.data, [self.questions[0].task_type])
        self.rollout = Rollout.of(self.texts, self.answer(self.questions, self.texts))
        self.files = [root / "seed" / file for file in FILES]
        dump_questions(self.files[1], self.questions)
        write_text(self.files[0], canonical(promoted("main", self.rollout, self.files[1], self.config)))
        write_text(self.files[2], canonical({**self.rollout.model_dump(mode="json"), "made_by": {}}))

    def answer(self, questions: list[Question], texts: Texts, *more: Any) -> list[Any]:
        job = Job(
            "baseline", self.config, {"wildcards": {}, "run": self.root / "run", "inputs": {}, "outputs": {}}
        )
        return answer_all(job, questions, texts, *more)

    @property
    def calls(self) -> int:
        logs = list((self.root / "run" / "log" / "calls").glob("*.jsonl"))
        return sum(len(path.read_text().splitlines()) for path in logs)


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Promoted:
    monkeypatch.setenv("SKILLMAKE_CACHE", str(tmp_path / "cache"))
    return Promoted(tmp_path)


def test_stored_rollouts_are_taken_without_a_call(seed: Promoted) -> None:
    stored = read_stored(seed.files, seed.questions, seed.config)
    assert (stored.rows, stored.why_not) == (seed.rollout.rows, "")
    before = seed.calls
    rows = seed.answer(seed.questions, seed.texts, stored.rows)
    assert seed.calls == before == len(seed.questions), "a cache hit would be in the log as well"
    plain = [row.model_copy(update={"looked_up": False}) for row in rows]
    assert Rollout.of(seed.texts, plain) == seed.rollout
    assert all(row.looked_up for row in rows)


def test_only_what_is_not_the_same_is_asked(seed: Promoted) -> None:
    first, *others = seed.questions
    changed = first.model_copy(update={"answer": next(o for o in first.options or () if o != first.answer)})
    stored = read_stored(seed.files, [changed, *others], seed.config)
    assert first.question_id not in {row.question_id for row in stored.rows}
    before = seed.calls
    rows = seed.answer([changed, *others], seed.texts, stored.rows)
    assert seed.calls == before + 1
    assert {row.question_id for row in rows} == {question.question_id for question in seed.questions}


def test_rollouts_of_other_texts_are_not_taken(seed: Promoted) -> None:
    (path,) = (name for name in seed.texts.skills.files if name != "default-strategy/SKILL.md")
    other = seed.texts.with_skill(path, seed.texts.skills.files[path] + "\nThink.\n", "test")
    stored = read_stored(seed.files, seed.questions, seed.config)
    before = seed.calls
    assert not any(row.looked_up for row in seed.answer(seed.questions, other, stored.rows))
    assert seed.calls == before + len(seed.questions)


def test_another_agent_or_student_takes_none_and_says_so(seed: Promoted) -> None:
    stored = read_stored(seed.files, seed.questions, world(grader="exact"))
    assert stored.rows == ()
    assert stored.why_not.endswith("/seed: its rollouts were made with another agent")
    both = parse_config({**WORLD, "models": {"student": {"provider": "local"}}, "agent": {"max_steps": 9}})
    assert read_stored(seed.files, seed.questions, both).why_not.endswith("another models.student and agent")


def test_an_error_of_the_infrastructure_is_asked_again(seed: Promoted) -> None:
    rows = (
        tuple(row.model_copy(update={"right": None}) for row in seed.rollout.rows[:1]) + seed.rollout.rows[1:]
    )
    rollout = seed.rollout.model_copy(update={"rows": rows})
    write_text(seed.files[2], canonical(rollout))
    note = json.loads(seed.files[0].read_text())
    write_text(seed.files[0], canonical({**note, "rollouts": digest(rollout)}))
    assert len(read_stored(seed.files, seed.questions, seed.config).rows) == len(rows) - 1


@pytest.mark.parametrize("place", [1, 2])
def test_a_file_that_was_changed_is_named(seed: Promoted, place: int) -> None:
    text = seed.files[place].read_text()
    assert '"right": true' in text or place == 1
    seed.files[place].write_text(
        text.replace("true", "false", 1) if place == 2 else text.replace("?", "!", 1)
    )
    with pytest.raises(DataError, match=rf"{FILES[place].stem}.*: is not what was promoted"):
        read_stored(seed.files, seed.questions, seed.config)


def test_a_run_without_a_seed_has_nothing_stored(seed: Promoted) -> None:
    assert read_stored([], seed.questions, seed.config).rows == ()
    assert promoted("main", seed.rollout, seed.files[1], seed.config).questions == sha256(
        seed.files[1].read_bytes()
    )


def test_a_run_says_where_its_promoted_seed_comes_from(seed: Promoted) -> None:
    run, note = seed.root / "runs/second", "seeds/strong/seed.json"
    baseline = run / "data/baseline.json"
    write_text(baseline, canonical({"rows": [], "derived_from": {"runs/second/data/texts.json": "00"}}))
    assert origin_text(run, "skills") == ""
    write_text(baseline, canonical({"rows": [], "derived_from": {note: "00"}}))
    assert origin_text(run, "skills") == "", "the seed is gone"
    write_text(seed.root / note, seed.files[0].read_text())
    version = seed.rollout.prompts
    assert origin_text(run, "prompts") == (
        f"The seed comes from seeds/strong, promoted as prompts version {version} of run main: "
        f"`skillmake lineage {version} --run main`\n"
    )
