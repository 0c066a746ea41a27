"""A candidate at the gate with real rollouts: lookups by content, pairs, replicates (SPEC §6)."""

from collections.abc import Mapping
from typing import Any

import pytest

from skillmake.config.models import Gate
from skillmake.gating import gate_candidate
from skillmake.ladder import build_ladder
from skillmake.questions import Question
from skillmake.rehearsal.config import WorldConfig
from skillmake.rehearsal.provider import RehearsalProvider
from skillmake.rehearsal.world import World
from skillmake.settle import GateResult, carry
from skillmake.texts import Texts, Version
from skillmake.units import Unit, make_units
from tests.gating import (
    GATE,
    HEAD,
    SEED,
    Hire,
    Student,
    gated,
    known_under,
    names,
    sides,
    state,
    texts,
    tried,
)
from tests.worlds import question, units


def test_a_skipped_candidate_passes_through_without_a_call(hire: Hire) -> None:
    student = Student()
    skipped = tried("new", status="skipped", reason="cooldown: 1 more steps")
    result = gate_candidate(skipped, texts("old"), state(), units(5), hire(student), GATE, SEED)
    assert result == GateResult(task_type="alpha", candidate=skipped, decision=None)
    assert student.asked == []


def test_wins_and_losses_are_those_of_the_two_texts(hire: Hire) -> None:
    """Of 20 units the old text has 10 to 19; the new one has 0 to 17: 10 wins, 2 losses, 8 ties."""
    result = gated(hire(Student()), f"old {names(*range(10, 20))}", f"new {names(*range(18))}", units(20))
    assert result.decision is not None
    found = result.decision.numbers
    assert (found.wins, found.losses, found.n) == (10, 2, 20)
    assert result.decision.action == "accept_provisional"  # e(10,2) = 4·2047/11 - 4·4095/12 + 8191/13 = 9.44


def test_how_far_the_climb_is_can_be_heard_and_changes_nothing(hire: Hire) -> None:
    """Rungs of 10, blocks of the slots: wins first, then what the old text has right already."""
    heard: list[Mapping[str, Any]] = []
    old, new = texts(f"old {names(*range(10, 20))}"), f"new {names(*range(18))}"
    arguments = (tried(new), old, state(), units(20))
    told = gate_candidate(*arguments, hire(Student()), GATE, SEED, tell=heard.append)
    assert told == gate_candidate(*arguments, hire(Student()), GATE, SEED)
    assert (heard[-1]["wins"], heard[-1]["losses"], heard[-1]["n"]) == (10, 2, 20)
    assert (heard[-1]["rung"], heard[-1]["rungs"], heard[-1]["most"]) == (2, 2, 20)
    assert (heard[-1]["confirm_at"], heard[-1]["provisional_at"]) == (20.0, 2.0)
    assert [told["n"] for told in heard] == sorted({told["n"] for told in heard})


def twins(n: int) -> list[Unit]:
    """Pairs p0 …, with the questions p0a and p0b …"""
    return make_units([question(f"p{k}{m}", unit_id=f"p{k}") for k in range(n) for m in "ab"])


def both(n: int, members: str = "ab") -> str:
    return " ".join(f"p{k}{m}" for k in range(n) for m in members)


@pytest.mark.parametrize(
    ("old", "new", "wins", "losses"),
    [
        ("", both(10), 10, 0),
        (both(10, "b"), both(10), 10, 0),
        ("", both(10, "a"), 0, 0),  # half a pair is no win
        (both(10, "a"), both(10, "b"), 0, 0),
        (
            both(10),
            both(10, "a"),
            0,
            1,
        ),  # half a pair is a loss, and with no win possible the first one ends it
    ],
)
def test_a_twin_pair_is_one_unit(hire: Hire, old: str, new: str, wins: int, losses: int) -> None:
    result = gated(hire(Student(), slots=3), f"old {old}", f"new {new}", twins(10))
    assert result.decision is not None
    found = result.decision.numbers
    assert (found.wins, found.losses) == (wins, losses)
    units_seen = [row.unit_id for row in result.decision.evidence]
    assert len(units_seen) == len(set(units_seen)) == found.n <= 10
    for rows in (result.baseline_rows, result.candidate_rows):
        members = [row.unit_id for row in rows]
        assert all(members.count(unit_id) == 2 for unit_id in members)


def test_a_unit_of_the_candidates_pack_leaves_whole(hire: Hire) -> None:
    student = Student()
    candidate = tried(f"new {both(6)}", pack_units=("p0", "p3"))
    result = gate_candidate(candidate, texts("old"), state(), twins(6), hire(student), GATE, SEED)
    assert result.decision is not None
    assert result.decision.numbers.n == 4
    assert not any(name.startswith(("p0", "p3")) for _, name, _ in student.asked)


def test_replicates_are_draws_of_both_sides_with_a_key_each(hire: Hire) -> None:
    """Old: one draw of three right; new: two of three. Seven units, each a win by its share."""
    student, config = Student(), GATE.model_copy(update={"replicates": 3})
    old = " ".join(f"u{k:02d}#0" for k in range(7))
    new = " ".join(f"u{k:02d}#1 u{k:02d}#2" for k in range(7))
    result = gated(hire(student, temperature=1.0), f"old {old}", f"new {new}", units(7), config=config)
    assert result.decision is not None
    assert result.decision.action == "accept"  # e(7,0) = (2^8 - 1)/8 = 31.9
    shares = {(row.baseline, row.candidate) for row in result.decision.evidence}
    assert shares == {(1 / 3, 2 / 3)}
    assert sides(student) == (21, 21)
    keys = [row.calls for row in (*result.baseline_rows, *result.candidate_rows)]
    assert len(set(keys)) == len(keys) == 42


def test_a_known_outcome_stands_for_the_first_draw_only(hire: Hire) -> None:
    old, pool = f"old {names(1)}", units(10)
    before = known_under(hire(Student(), temperature=1.0), texts(old), pool)
    student, config = Student(), GATE.model_copy(update={"replicates": 2})
    result = gated(hire(student, temperature=1.0), old, f"new {names(*range(10))}", pool, before, config)
    assert {draw for skill, _, draw in student.asked if "old" in skill} == {1}
    assert {row.looked_up for row in result.baseline_rows if row.replicate == 0} == {True}


def test_a_known_first_draw_does_not_rule_a_win_by_share_out(hire: Hire) -> None:
    """All first draws are right, no second one is: the first rung ties, each unit of the second is a win."""
    pool, config = units(20), GATE.model_copy(update={"replicates": 2})
    first = {unit.unit_id for unit in build_ladder(pool, (), {}, {}, config, SEED)[0]}
    draws = " ".join(f"{unit.unit_id}#0" for unit in pool)
    before = known_under(hire(Student(), temperature=1.0), texts(draws), pool)
    new = f"{draws} {' '.join(unit.unit_id for unit in pool if unit.unit_id not in first)}"
    result = gated(hire(Student(), temperature=1.0), draws, new, pool, before, config)
    assert result.decision is not None
    assert (result.decision.numbers.wins, result.decision.numbers.n) == (10, 20)


def test_a_fresh_baseline_is_drawn_anew_for_each_step(hire: Hire) -> None:
    """What was known is not looked up, and the draws have numbers that no other step has."""
    old, pool = "old u03#5 u03#6", units(10)
    before = known_under(hire(Student(), temperature=1.0), texts(old), pool)
    student = Student()
    config = GATE.model_copy(update={"replicates": 2, "fresh_baseline": True})
    result = gated(
        hire(student, temperature=1.0),
        old,
        f"new {names(*range(10))}",
        pool,
        before.model_copy(update={"step": 2}),
        config,
    )
    assert {draw for _, _, draw in student.asked} == {5, 6}
    assert not any(row.looked_up for row in result.baseline_rows)
    assert result.decision is not None
    assert result.decision.numbers.wins == 9  # all but u03, which both draws of the old text have right


def test_a_carried_candidate_meets_fresh_units_only(hire: Hire) -> None:
    """Ladders of 4 of 8 units: three wins and one loss at first, e = 1.3; then one more win, e(4,1) = 1.9."""
    config = GATE.model_copy(update={"n_max": 4, "rung": 4, "carry_steps": 1})
    agent, pool = hire(Student()), units(8)
    ladder = [unit.unit_id for rung in build_ladder(pool, [], {}, {}, config, SEED) for unit in rung]
    old, new = f"old {ladder[0]}", f"new {' '.join(ladder[1:])}"
    first = gated(agent, old, new, pool, config=config)
    assert first.decision is not None
    assert first.decision.stop_reason == "carried"
    second = gate_candidate(
        carry(first.candidate, first.decision), texts(old), state(), pool, agent, config, SEED
    )
    assert second.decision is not None
    assert {row.unit_id for row in second.decision.evidence} <= set(names(*range(8)).split()) - set(ladder)
    # No fresh unit is left, and one step was all it might be carried
    assert second.decision.stop_reason in ("futile", "exhausted")
    assert second.decision.numbers.losses == 1


def test_an_error_in_one_draw_of_one_member_excludes_the_unit(hire: Hire) -> None:
    config = GATE.model_copy(update={"replicates": 2, "guard_err": 0.5})
    new = f"new {both(5)} !p4b#1"
    result = gated(hire(Student(), temperature=1.0), "old", new, twins(5), config=config)
    assert result.decision is not None
    assert (result.decision.numbers.n, result.decision.numbers.errors) == (4, 1)
    (row,) = [row for row in result.decision.evidence if row.outcome == "error"]
    assert (row.unit_id, row.candidate) == ("p4", None)


@pytest.mark.parametrize("slots", [3, 16])
def test_neither_decision_nor_rows_depend_on_the_slots(hire: Hire, slots: int) -> None:
    """Nine failures and no win: after seven only two of the three wins can be reached; more are not kept."""
    student = Student()
    serial = gated(hire(Student()), "old u09", "new", units(10))
    wide = gated(hire(student, slots=slots), "old u09", "new", units(10))
    assert wide == serial
    assert serial.decision is not None
    assert len(serial.candidate_rows) == len(serial.decision.evidence) == 7
    assert sides(student)[1] > 7


@pytest.mark.parametrize("slots", [1, 16])
def test_a_shadow_asks_the_rest_of_the_rung_and_decides_nothing(hire: Hire, slots: int) -> None:
    """Evidence and decision are those without it; with it the last rung is asked whole, no unit twice."""
    student = Student()
    plain = gated(hire(Student()), "old u09", "new", units(20))
    config = GATE.model_copy(update={"shadow": True})
    found = gated(hire(student, slots=slots), "old u09", "new", units(20), config=config)
    assert plain.decision is not None
    assert found.decision is not None
    assert found.decision.model_copy(update={"shadow": ()}) == plain.decision
    first = [row for row in plain.decision.evidence if row.rung == plain.decision.evidence[-1].rung]
    assert len(first) + len(found.decision.shadow) == GATE.rung
    asked = [row.question_id for row in found.candidate_rows]
    assert len(asked) == len(set(asked)) == len(plain.decision.evidence) + len(found.decision.shadow)


def test_in_the_known_truth_world_all_rules_are_confirmed_and_none_are_not(hire: Hire) -> None:
    world = World(WorldConfig(types=1, units_per_type=20, base_accuracy=0.5, skill_gain=0.5, churn=0.0))
    (task_type,) = world.types
    pool = make_units(Question.model_validate(row) for row in world.questions())
    agent = hire(RehearsalProvider(world), slots=4)
    path = "parcel-desk/SKILL.md"
    seed = Texts(
        skills=Version.of({path: HEAD}, None, "seed"),
        prompts=Version.of({"system.md": "Answer."}, None, "seed"),
    )
    actions = {}
    for kind in ("useful", "useless"):
        text = HEAD + "\n".join(task_type.sentences[kind]) + "\n"
        candidate = tried("", task_type=task_type.name, path=path, text=text)
        result = gate_candidate(
            candidate, seed, state(), pool, agent, Gate(n_max=20, rung=20, futility=0), SEED
        )
        assert result.decision is not None
        actions[kind] = result.decision.action
    assert actions == {"useful": "accept", "useless": "reject"}
