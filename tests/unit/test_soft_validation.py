"""Soft scores of full validations, and what follows from them, by the rules of the DAG themselves."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.in_process import ROOT, Run, checkout
from skillmake.agent.loop import Prediction
from skillmake.artifacts import canonical, read_model, write_text
from skillmake.config.endpoints import ModelConfig
from skillmake.config.load import overlay
from skillmake.holdout import sides
from skillmake.judges.soft import NO_FAULT, judge_soft
from skillmake.llm import factory
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import ChatRequest, ChatResponse, Provider
from skillmake.plan import Batch, Plan
from skillmake.questions import dump_questions
from skillmake.rollout import Rollout
from skillmake.scores import Scores, SoftScores
from skillmake.slow import BestReport, validate
from skillmake.structured import Asker
from skillmake.teachers.templates import Templates
from skillmake.texts import Texts, Version
from tests.starts import start
from tests.worlds import question, row

RUN = "runs/hand"
CONFIG = overlay(
    yaml.safe_load((ROOT / "params.yaml").read_text()),
    {
        "run": "hand",
        "diagnose": {"method": "judges"},
        "models": {"judge": {"provider": "rehearsal", "model": "judge"}},
    },
)
START = start({"alpha": (1, 4, 1)})
SOUND = [{"step": 1, "sound": True, "why": ""}]
FLAWED = [{"step": 2, "sound": False, "why": "a leap"}]
# Spans and nodes that the judge names; the first key that a prompt holds counts
SAYS = {"version two": ([*SOUND, *FLAWED], [True]), "": (FLAWED, [False])}


class Judge(Provider):
    """Finds what a half right skill left of a wrong answer; knows spans and evidence only."""

    identity: dict[str, Any] = {"provider": "scripted"}  # noqa: RUF012 - a constant

    def __init__(self, says: dict[str, tuple[list[Any], list[bool]]]) -> None:
        self.says, self.asked = says, list[str]()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        text = str(request.messages[0]["content"])
        self.asked.append(text)
        spans, found = next(value for key, value in self.says.items() if key in text)
        assert request.schema is not None
        if request.schema["title"] == "Spans":
            return ChatResponse(json.dumps({"spans": spans}) if spans else "cut", finish="stop")
        return ChatResponse(json.dumps({"nodes": [{"node": "n", "found": one} for one in found]}))

    async def close(self) -> None:
        return None


def texts(version: str) -> Texts:
    skills = {
        "alpha/SKILL.md": f"---\nname: alpha\ndescription: d\n---\n\n## Rules\n\n- This is {version}.\n"
    }
    prompts = {"system.md": "Answer."}
    return Texts(skills=Version.of(skills, None, "seed"), prompts=Version.of(prompts, None, "seed"))


def rows(right: str, call: str, pool: str = "v") -> list[Prediction]:
    return [row(f"alpha-{pool}{k:02d}", sign == "+", f"{call}{pool}{k}") for k, sign in enumerate(right)]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    found = Judge(SAYS)
    monkeypatch.setattr(factory, "make_provider", lambda *_: found)
    return found


@pytest.fixture
def run() -> Iterator[Run]:
    """The rules, with judges, in a folder where two epochs of four validation units are written by hand.

    R: none of the seed's answers is right, two of version one's, one of version two's.
    """
    with checkout():
        made = Run(CONFIG)
        files: dict[str, Any] = {"data/pools": START.split, "data/texts": texts("version zero")}
        baseline = [*rows("----", "base"), *rows("-", "base", "d"), *rows("-", "base", "t")]
        files["data/baseline"] = Rollout.of(texts("version zero"), baseline)
        batch = Batch(units=("alpha-d00",), types=("alpha",), edit_budget=1)
        for epoch, version, right in (("e01", "version one", "++--"), ("e02", "version two", "+---")):
            files[f"{epoch}/plan"] = Plan(epoch=int(epoch[1:]), stop="", batches=(batch,))
            files[f"{epoch}/s001/texts"] = texts(version)
            found = validate(texts(version), rows(right, epoch), START.benchmark.validation)
            files[f"{epoch}/end/validation"] = found
        dump_questions(Path(RUN, "data/questions.jsonl"), START.benchmark.questions.values())
        for name, value in files.items():
            write_text(f"{RUN}/{name}.json", canonical(value))
        made.given({f"{RUN}/data/questions.jsonl", *(f"{RUN}/{name}.json" for name in files)})
        yield made


def end_of(run: Run, epoch: str) -> tuple[Scores, BestReport]:
    """Scores of R, and the best version behind it, made by soft_seed, init, soft_eval, scores and best."""
    run.make(f"{RUN}/init/state.json")
    copies = {f"{RUN}/{epoch}/s001/state.json": f"{RUN}/init/state.json"}
    if epoch == "e02":
        copies[f"{RUN}/e01/end/best.json"] = f"{RUN}/e01/end/settled_best.json"
    for path, source in copies.items():
        write_text(path, Path(source).read_text())
    run.given(copies)
    run.make(f"{RUN}/{epoch}/end/settled_best.json")
    return (
        read_model(f"{RUN}/{epoch}/end/scores.json", Scores),
        read_model(f"{RUN}/{epoch}/end/settled_best.json", BestReport),
    )


def test_the_best_by_mixed_score_is_not_the_best(judge: Judge, run: Run) -> None:
    """Version one: hard ½, its two wrong answers soft 0: mixed ½·½ + ½·½ = ½. Version two: hard ¼, its three
    wrong ones each (½ + 1)/2 = ¾: soft (1 + 3·¾)/4 = 0.8125, mixed (0.25 + 0.8125)/2 = 0.53125."""
    first, best = end_of(run, "e01")
    assert (first.overall.hard, first.overall.soft, first.overall.mixed, first.judged) == (0.5, 0.5, 0.5, 2)
    assert best.by_mixed is not None
    assert (best.best.epoch, best.by_mixed.epoch) == (1, 1)

    second, best = end_of(run, "e02")
    assert (second.overall.hard, second.overall.soft, second.overall.mixed) == (0.25, 0.8125, 0.53125)
    assert best.by_mixed is not None
    assert (best.promoted, best.best.epoch, best.best.accuracy) == (False, 1, 0.5)
    assert (best.by_mixed.epoch, best.by_mixed.mixed) == (2, 0.53125)
    tested = sides(texts("version zero"), texts("version two"), best)
    assert tested["best"] == texts("version one")
    assert tested["best_mixed"] == texts("version two")
    # two calls for each of 4 + 2 + 3 wrong answers, none for a right one
    assert len(judge.asked) == 18
    assert not any("Graded: right" in text for text in judge.asked)


def test_without_judges_there_is_no_soft_score_to_make(judge: Judge, run: Run) -> None:
    for change in ({"diagnose": {"method": "rules"}}, {"slow": {"soft_validation": False}}):
        plain = Run(overlay(CONFIG, change))
        assert plain.rules["scores"].parts["input"]["soft"] == []
        assert plain.rules["init"].parts["input"]["soft"] == []
    assert run.rules["init"].parts["input"]["soft"] == [f"{RUN}/data/soft.json"]
    assert judge.asked == []


@pytest.mark.parametrize(
    ("spans", "found", "soft", "why"),
    [
        ([*SOUND, *FLAWED], [True, False], 0.5, ""),
        (SOUND, [False], 0.5, ""),
        ([*SOUND, *FLAWED], [], 0.5, ""),  # nothing to find: the spans alone
        (SOUND, [True], None, NO_FAULT),
        (SOUND, [], None, NO_FAULT),
        ([], [True], None, "spans: there is no JSON object in it"),
    ],
)
def test_a_judgement_that_cannot_be_used_leaves_the_outcome(
    spans: list[Any], found: list[bool], soft: float | None, why: str, tmp_path: Path
) -> None:
    judge = Judge({"": (spans, found)})
    asked: Sequence[Prediction] = [row("q1", False, "a"), row("q2", True, "b"), row("q3", None, "c")]
    questions = {one.question_id: question(one.question_id) for one in asked}
    client = Client(judge, "judge", CallCache(tmp_path / "cache"), Meter(tmp_path, Caps(), "j"))
    asker = Asker(client, ModelConfig(), Templates(ROOT / "prompts" / "diagnose"))
    try:
        scores: SoftScores = judge_soft(asked, questions, texts("version one"), asker)
    finally:
        client.close()
    assert scores.soft == ({} if soft is None else {"q1": soft})
    assert {name: judging.degraded for name, judging in scores.judgings.items()} == {"q1": why}
    assert len(scores.judgings["q1"].calls) == (3 if not spans else 2)  # one repair try
