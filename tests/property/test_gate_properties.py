"""Properties of the gate that hold for every ladder and every outcome (SPEC §6)."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import comb

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skillmake.config.models import Gate
from skillmake.gate import Decision, run_gate
from skillmake.ladder import build_ladder
from skillmake.units import Unit, make_units
from tests.gates import Case, drawn, number
from tests.worlds import question

quick = settings(max_examples=60, deadline=None)  # a slow machine is no failure
SHARES = (0.0, 1.0, 0.0, 1.0, 0.5, None)  # of a unit's draws that are right; None after an error
CLOSE = 1e-6  # numbers are rounded to six digits


@cache
def exact_e(wins: int, losses: int) -> Fraction:
    """∫₁² u^W (2-u)^L du, term by term of the binomial: another way than the library's."""
    total = Fraction(0)
    for k in range(losses + 1):
        power = wins + k + 1
        total += (-1) ** k * comb(losses, k) * 2 ** (losses - k) * Fraction(2**power - 1, power)
    return total


def used(decision: Decision) -> set[int]:
    return {number(row.unit_id) for row in decision.evidence}


@st.composite
def cases(draw: st.DrawFn, least: int = 1) -> Case:
    n = draw(st.integers(least, 24))
    # Half of the candidates are good and half of them are not, so that every action occurs.
    right = draw(st.sampled_from((SHARES, (1.0, 1.0, 1.0, 0.5), (0.0, 0.0, 1.0))))
    baseline = draw(
        st.lists(st.sampled_from(draw(st.sampled_from((SHARES, (0.0, 0.0, 1.0))))), min_size=n, max_size=n)
    )
    candidate = draw(st.lists(st.sampled_from(right), min_size=n, max_size=n))
    whole = [k for k in range(n) if baseline[k] in (0, 1)]
    known = draw(st.sets(st.sampled_from(whole))) if whole else set()
    config = Gate(
        n_max=40,
        rung=draw(st.integers(1, 12)),
        e_confirm=draw(st.sampled_from((4.0, 20.0))),
        e_provisional=draw(st.sampled_from((1.5, 2.0))),
        w_net_min=draw(st.sampled_from((0, 1, 3, 12))),
        min_discordant=draw(st.sampled_from((1, 3, 8))),
        delta_min=draw(st.sampled_from((0.0, 0.2))),
        guard_err=draw(st.sampled_from((0.1, 0.5))),
        futility=0,
    )
    return Case(tuple(baseline), tuple(candidate), frozenset(known), config)


@quick
@given(cases(), st.integers(2, 30))
def test_the_decision_does_not_depend_on_what_is_in_flight(case: Case, in_flight: int) -> None:
    assert case.climb(in_flight) == case.climb()


@quick
@given(cases(least=6), st.lists(st.sampled_from(SHARES), min_size=24, max_size=24))
def test_the_decision_does_not_depend_on_what_lies_behind_a_stop(
    case: Case, other: list[float | None]
) -> None:
    """Candidate outcomes that were not read, and baselines of rungs that were not begun, may be anything."""
    decision = case.climb()
    begun = len({row.rung for row in decision.evidence}) * case.config.rung
    seen = used(decision)
    assume(len(seen) < len(case.baseline))
    elsewhere = replace(
        case,
        candidate=tuple(c if k in seen else other[k] for k, c in enumerate(case.candidate)),
        baseline=tuple(
            b if k < begun or k in case.known else other[-1 - k] for k, b in enumerate(case.baseline)
        ),
    )
    assert elsewhere.climb(in_flight=5) == decision


@quick
@given(cases())
def test_the_numbers_are_those_of_the_evidence(case: Case) -> None:
    decision = case.climb()
    outcomes = [row.outcome for row in decision.evidence]
    found = decision.numbers
    assert (found.wins, found.losses) == (outcomes.count("win"), outcomes.count("loss"))
    assert (found.errors, found.n) == (outcomes.count("error"), len(outcomes) - outcomes.count("error"))
    assert found.e == pytest.approx(float(exact_e(found.wins, found.losses)), abs=CLOSE)
    assert found.e_harm == pytest.approx(float(exact_e(found.losses, found.wins)), abs=CLOSE)
    for row in decision.evidence:
        before, after = case.baseline[number(row.unit_id)], case.candidate[number(row.unit_id)]
        if before is None or after is None:
            assert row.outcome == "error"
        else:
            assert row.outcome == ("win" if after > before else "loss" if after < before else "tie")


@quick
@given(cases())
def test_accept_only_at_the_end_of_a_rung_with_enough_evidence(case: Case) -> None:
    decision = case.climb()
    if decision.action not in ("accept", "accept_provisional"):
        return
    read, found, config = len(decision.evidence), decision.numbers, case.config
    evidence = float(exact_e(found.wins, found.losses))
    assert read in case.ends()
    assert used(decision) == set(range(read))  # whole rungs, none left out
    assert found.wins + found.losses >= config.min_discordant
    assert (found.wins - found.losses) / (found.n + config.lambda_dir) >= config.delta_min - CLOSE
    assert found.errors <= config.guard_err * read
    if decision.action == "accept":
        assert evidence >= config.e_confirm - CLOSE
    else:
        assert read == len(case.baseline)
        assert evidence >= config.e_provisional - CLOSE
        assert found.wins - found.losses >= config.w_net_min


@quick
@given(cases())
def test_what_is_not_accepted_was_acceptable_at_no_end_of_a_rung(case: Case) -> None:
    """Counted here without any stop, to the top of the ladder."""
    decision = case.climb()
    if decision.action in ("accept", "inconclusive") or decision.stop_reason == "harmful":
        return
    config, n = case.config, len(case.baseline)
    for end in sorted(case.ends()):
        pairs = list(zip(case.baseline[:end], case.candidate[:end], strict=True))
        whole = [(b, c) for b, c in pairs if b is not None and c is not None]
        wins, losses = sum(c > b for b, c in whole), sum(c < b for b, c in whole)
        shrunk = round((wins - losses) / (len(whole) + config.lambda_dir), 6)
        sound = wins + losses >= config.min_discordant and shrunk >= config.delta_min
        if end - len(whole) > config.guard_err * end or exact_e(losses, wins) >= config.e_confirm:
            return  # it would have ended there
        assert not (sound and exact_e(wins, losses) >= config.e_confirm)
        if end == n:
            enough = exact_e(wins, losses) >= config.e_provisional and wins - losses >= config.w_net_min
            assert (decision.action == "accept_provisional") == (sound and enough)


@quick
@given(cases(least=4))
def test_futile_only_if_even_all_remaining_wins_would_not_do(case: Case) -> None:
    """A remaining unit can be won if its baseline is neither all right nor an error."""
    decision = case.climb()
    if decision.stop_reason != "futile":
        return
    seen = used(decision)
    open_units = sum(b is not None and b < 1 for k, b in enumerate(case.baseline) if k not in seen)
    config, wins = case.config, decision.numbers.wins + open_units
    # Where fewer units than asked for tell the two apart, the others could only be losses
    losses = max(decision.numbers.losses, config.min_discordant - wins)
    no_evidence = exact_e(wins, losses) < config.e_provisional + CLOSE
    no_net_wins = exact_e(wins, losses) < config.e_confirm + CLOSE and wins - losses < config.w_net_min
    assert no_evidence or no_net_wins


@quick
@given(cases(), st.sampled_from((0.1, 0.3, 0.6)), st.integers(2, 30))
def test_futility_only_rejects_sooner(case: Case, futility: float, in_flight: int) -> None:
    """Whatever else the gate says with it, it says without it; and it does not depend on concurrency."""
    hurried = replace(case, config=case.config.model_copy(update={"futility": futility}))
    decision = hurried.climb()
    assert hurried.climb(in_flight) == decision
    whole = case.climb()
    if decision.stop_reason == "futile":
        assert len(decision.evidence) <= len(whole.evidence)
    else:
        assert decision.action == "inconclusive" or decision == whole


@quick
@given(cases())
def test_inside_a_rung_what_can_be_won_comes_first(case: Case) -> None:
    order = [(row.rung, row.baseline is None or row.baseline == 1) for row in case.climb().evidence]
    assert order == sorted(order)


@st.composite
def pools(draw: st.DrawFn) -> tuple[list[Unit], list[str], Gate]:
    """Units of which some are twin pairs, the units of a pack, and the shape of the ladder."""
    questions = []
    for k in range(draw(st.integers(0, 30))):
        members = ("a", "b") if draw(st.booleans()) else ("a",)
        questions += [question(f"u{k:02d}{member}", unit_id=f"u{k:02d}") for member in members]
    found = make_units(questions)
    names = [unit.unit_id for unit in found]
    pack = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    return found, pack, Gate(n_max=draw(st.integers(1, 25)), rung=draw(st.integers(1, 12)))


@quick
@given(pools(), st.booleans(), st.integers(1, 6))
def test_a_pair_is_never_split(pool: tuple[list[Unit], list[str], Gate], warm: bool, in_flight: int) -> None:
    """Neither by the pack nor by a rung nor by what is in flight; and the ladder keeps its measures."""
    found, pack, config = pool
    p_hat = {unit.unit_id: number(unit.unit_id) % 5 / 4 for unit in found} if warm else {}
    right = {unit.unit_id: number(unit.unit_id) % 3 == 0 for unit in found}
    ladder = build_ladder(found, pack, p_hat, right, config, (1, "seed"))
    assert ladder == build_ladder(found[::-1], pack, p_hat, right, config, (1, "seed"))
    flat = [unit for rung in ladder for unit in rung]
    assert len(flat) == min(config.n_max, len(found) - len(pack))
    assert not {unit.unit_id for unit in flat} & set(pack)
    assert all(len(rung) == config.rung for rung in ladder[:-1])
    old: list[Unit] = []
    new: list[Unit] = []
    wrong, yes = [0.0] * 30, [1.0] * 30
    decision = run_gate(ladder, drawn(wrong, old), drawn(yes, new), config, in_flight=in_flight)
    sizes = {unit.unit_id: len(unit.questions) for unit in found}
    for side in (flat, old, new):
        names = [q.question_id for unit in side for q in unit.questions]
        assert len(names) == len(set(names)) == sum(sizes[unit.unit_id] for unit in side)
    assert decision.numbers.n == len(decision.evidence) == len({row.unit_id for row in decision.evidence})
