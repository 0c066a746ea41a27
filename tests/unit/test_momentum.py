"""Momentum: samples, guidance, and the gate that must not find it worse (SPEC §7.6)."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from skillmake.agent.loop import Agent
from skillmake.benchmark import Benchmark, Split
from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Agent as AgentConfig
from skillmake.config.models import Slow
from skillmake.epoch_end import fold_momentum
from skillmake.guards import LeakGuard
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter
from skillmake.llm.types import ChatRequest, ChatResponse, Provider
from skillmake.momentum import (
    Comparison,
    Guidance,
    MomentumReport,
    with_guidance,
    write_guidance,
)
from skillmake.momentum_run import MomentumGate, run_momentum
from skillmake.pools import Pools
from skillmake.texts import Texts, Version
from tests.momenta import ALL, GATE, NOW, START, skill
from tests.unit.test_slow import ALPHA, BETA, TEXTS, state
from tests.worlds import question

DEFAULT = "default-strategy/SKILL.md"


def slow(margin: float) -> Slow:
    return Slow(e_rollback=2, momentum_margin=margin)


class Student(Provider):
    """Answers yes to question u07 or d07 if its skill has the word k07, and not the word x07."""

    @property
    def identity(self) -> dict[str, Any]:
        return {"provider": "student of test_slow_scenarios"}

    async def complete(self, request: ChatRequest) -> ChatResponse:
        words = set(str(request.messages[0]["content"]).split())
        number = re.findall(r"Is \D(\d+) so\?", str(request.messages[-1]["content"]))[0]
        return ChatResponse("yes" if f"k{number}" in words and f"x{number}" not in words else "no")

    async def close(self) -> None:
        return None


class Coach:
    """Gives the same guidance for every skill."""

    def __init__(self, text: str, nothing: str = "") -> None:
        self.answer = Guidance(text=text, nothing=nothing, calls=("c",), prompt_tokens=9)
        self.asked: list[Comparison] = []

    def guide(self, comparisons: Sequence[Comparison]) -> list[Guidance]:
        self.asked += comparisons
        return [self.answer] * len(comparisons)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    meter = Meter(tmp_path, Caps(None, None, None), "test")
    client = Client(Student(), "student", CallCache(tmp_path), meter)
    yield Agent(client, ModelConfig(provider="rehearsal"), AgentConfig())
    client.close()


def benchmark(diagnosis: int = 3, types: Sequence[str] = ("alpha", "beta")) -> Benchmark:
    """Eight validation units u00-u07 and `diagnosis` units d00, … of alpha."""
    asked = [question(f"u{k:02d}") for k in range(8)] + [question(f"d{k:02d}") for k in range(diagnosis)]
    pools = Pools(
        diagnosis=tuple(q.question_id for q in asked[8:]),
        validation=tuple(q.question_id for q in asked[:8]),
        test=(),
    )
    return Benchmark(asked, Split(pools=pools, trainable=tuple(types), dropped={}))


def run(
    agent: Agent,
    coach: Coach,
    now: Texts = NOW,
    *,
    gated: bool = True,
    margin: float = 0.0,
    on: Benchmark | None = None,
    samples: int = 12,
) -> MomentumReport:
    on = on or benchmark()
    gate = MomentumGate(agent, state(), on, GATE, slow(margin), (1, 1)) if gated else None
    return run_momentum(
        START, now, on, agent.run_together, coach, gate, most_samples=samples, token_cap=4000, seed=(1, 1)
    )


def test_no_momentum_where_no_skill_has_changed(agent: Agent) -> None:
    coach = Coach("Be brief.")
    report = run(agent, coach, START)
    assert (report.reason, report.files, report.rows, coach.asked) == ("no skill file changed", (), (), [])
    assert with_guidance(START, report, 1) == START


def test_no_momentum_without_samples(agent: Agent) -> None:
    coach = Coach("Be brief.")
    (file,) = run(agent, coach, on=benchmark(diagnosis=0)).files
    assert (file.status, file.reason) == ("skipped", "no diagnosis question of its task types")
    assert coach.asked == []


def test_the_teacher_compares_the_answers_with_the_epoch_start_text_and_with_todays(agent: Agent) -> None:
    """d00 was known all along, d01 and d02 only today; beta has not changed and is not looked at."""
    coach = Coach("Be brief.")
    report = run(agent, coach, gated=False)
    (asked,) = coach.asked
    assert (asked.path, asked.task_types, asked.guidance) == (ALPHA, ("alpha",), "")
    assert asked.skill == NOW.skills.files[ALPHA]
    found = {sample.question_id: (sample.before, sample.after, sample.change) for sample in asked.samples}
    assert found == {
        "d00": ("yes", "yes", "stable_success"),
        "d01": ("no", "yes", "improved"),
        "d02": ("no", "yes", "improved"),
    }
    assert len(report.rows) == 6


def test_without_its_gate_all_guidance_becomes_one_new_version(agent: Agent) -> None:
    both = NOW.with_skill(BETA, skill("k01", "k02"), "step 2")
    asked = [question(f"u{k:02d}") for k in range(8)]
    asked += [question("d00"), question("d01", task_type="beta")]
    pools = Pools(diagnosis=("d00", "d01"), validation=tuple(q.question_id for q in asked[:8]), test=())
    on = Benchmark(asked, Split(pools=pools, trainable=("alpha", "beta"), dropped={}))
    report = run(agent, Coach("Be brief."), both, gated=False, on=on)
    after = with_guidance(both, report, 1)
    assert sorted(report.accepted) == [ALPHA, BETA]
    assert after.skills.parent == both.skills.digest
    block = "\n<!-- momentum:begin -->\nBe brief.\n<!-- momentum:end -->\n"
    assert after.skills.files == {path: text + block for path, text in both.skills.files.items()}
    (note,) = fold_momentum(state(), report, after).versions
    assert (note.digest, note.parent, note.epoch) == (after.skills.digest, both.skills.digest, 1)


def test_momentum_that_its_gate_does_not_find_worse_is_current(agent: Agent) -> None:
    """All eight units stay right: W = L = 0. What was observed of the new text is folded in."""
    report = run(agent, Coach("Be brief."))
    (file,) = report.files
    (check,) = file.checks
    assert (file.status, check.check.reason) == ("accepted", "not_worse")
    assert (check.check.numbers.wins, check.check.numbers.losses, check.check.numbers.n) == (0, 0, 8)
    after = fold_momentum(state(), report, with_guidance(NOW, report, 1))
    assert after.correctness == {r.question_id: r.observation for r in check.changed_rows}
    assert after.seen == {}


def test_momentum_that_is_shown_to_harm_leaves_the_text_as_it_was(agent: Agent) -> None:
    """All eight turn wrong: after the first rung of four e(4,0) = 6.2 ≥ 2, and the second is not paid."""
    report = run(agent, Coach(" ".join(f"x{k:02d}" for k in range(8))))
    (file,) = report.files
    (check,) = file.checks
    assert (file.status, file.reason) == ("rejected", "alpha: harmful")
    assert (check.check.numbers.e_harm, len(check.changed_rows)) == (6.2, 4)
    after = with_guidance(NOW, report, 1)
    assert after == NOW
    folded = fold_momentum(state(), report, after)
    assert folded.correctness == {r.question_id: r.observation for r in check.baseline_rows}
    assert folded.versions == ()


@pytest.mark.parametrize(("margin", "status"), [(0.0, "rejected"), (0.124, "rejected"), (0.125, "accepted")])
def test_a_net_loss_is_borne_up_to_the_margin(agent: Agent, margin: float, status: str) -> None:
    """One of eight turns wrong: e(1,0) = 1.5 < 2 shows no harm, but (L - W)/n = ⅛."""
    (file,) = run(agent, Coach("x03"), margin=margin).files
    assert file.status == status
    assert file.checks[0].check.reason == ("net_loss" if status == "rejected" else "not_worse")


def test_momentum_that_nothing_can_judge_is_rejected(agent: Agent) -> None:
    """beta has no validation unit."""
    asked = [question("d00", task_type="beta")]
    on = Benchmark(
        asked,
        Split(pools=Pools(diagnosis=("d00",), validation=(), test=()), trainable=("beta",), dropped={}),
    )
    changed = START.with_skill(BETA, skill("k01", "k02"), "step 1")
    (file,) = run(agent, Coach("Be brief."), changed, on=on).files
    assert (file.status, file.reason) == ("rejected", "beta: no_units")


def test_two_types_on_one_file_are_sampled_together_and_each_has_its_gate(agent: Agent) -> None:
    """Of the shared default skill alpha keeps its four units, beta loses all four: rejected for beta."""
    asked = [question(f"u{k:02d}", "alpha" if k < 4 else "beta") for k in range(8)]
    asked += [question("d00", "alpha"), question("d04", "beta"), question("d05", "gamma")]
    pools = Pools(
        diagnosis=("d00", "d04", "d05"), validation=tuple(q.question_id for q in asked[:8]), test=()
    )
    on = Benchmark(asked, Split(pools=pools, trainable=("alpha", "beta"), dropped={}))
    start = Texts(skills=Version.of({DEFAULT: skill("k00")}, None, "seed"), prompts=TEXTS.prompts)
    now = start.with_skill(DEFAULT, skill(*ALL), "step 1")
    coach, gate = Coach("x04 x05 x06 x07"), MomentumGate(agent, state(), on, GATE, slow(0), (1, 1))
    report = run_momentum(
        start, now, on, agent.run_together, coach, gate, most_samples=9, token_cap=4000, seed=(1, 1)
    )
    (file,) = report.files
    assert file.task_types == ("alpha", "beta")
    assert sorted(sample.question_id for sample in file.samples) == ["d00", "d04"]
    assert {c.task_type: c.check.reason for c in file.checks} == {"alpha": "not_worse", "beta": "harmful"}
    assert (file.status, file.reason) == ("rejected", "beta: harmful")


@pytest.mark.parametrize(
    ("coach", "cap", "reason"),
    [
        (Coach("", "teacher call failed: HTTP 500"), 4000, "teacher call failed: HTTP 500"),
        (Coach("  "), 4000, "the teacher has nothing to say"),
        (Coach("See u03."), 4000, "names the held-out question u03"),
        (Coach("Be brief."), 25, "26 tokens of 25"),
    ],
)
def test_guidance_that_cannot_be_used_is_skipped_with_the_reason(
    agent: Agent, coach: Coach, cap: int, reason: str
) -> None:
    (report,) = run(agent, Coach("x"), gated=False).files
    guard = LeakGuard([question("u03")])
    comparison = Comparison(
        path=ALPHA, task_types=("alpha",), skill=skill("k00"), guidance="", samples=report.samples
    )
    (file,) = write_guidance([comparison], coach, guard, cap)
    assert (file.status, file.reason, file.text) == ("skipped", reason, "")
    assert (file.calls, file.prompt_tokens) == (("c",), 9)


def test_guidance_replaces_that_of_the_epoch_before(agent: Agent) -> None:
    first = with_guidance(NOW, run(agent, Coach("Be brief."), gated=False), 1)
    coach = Coach("Be kind.")
    second = with_guidance(first, run(agent, coach, first, gated=False), 2)
    assert coach.asked[0].guidance == "Be brief."
    assert "Be kind." in second.skills.files[ALPHA]
    assert "Be brief." not in second.skills.files[ALPHA]
    (same,) = run(agent, coach, second, gated=False).files
    assert (same.status, same.reason) == ("skipped", "the guidance leaves the text as it was")
