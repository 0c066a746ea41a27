"""A candidate at the gate: ladder, lookups by content, rollouts of both sides (SPEC §6)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skillmake.agent.loop import Agent, Observation, Prediction, Rollouts
from skillmake.benchmark import questions_of
from skillmake.candidate import Candidate
from skillmake.config.models import Gate
from skillmake.gate import Decision, GateNumbers, Terms, run_gate
from skillmake.ladder import build_ladder
from skillmake.settle import GateResult
from skillmake.state import State
from skillmake.texts import Texts
from skillmake.units import Unit, share_right, unit_right


def gate_candidate(
    candidate: Candidate,
    texts: Texts,
    state: State,
    units: Sequence[Unit],
    agent: Agent,
    config: Gate,
    seed: tuple[object, ...],
    confirm_at: float | None = None,
    tell: Callable[[Mapping[str, Any]], None] = lambda _: None,
    in_flight: int | None = None,
) -> GateResult:
    """Gate a proposed candidate on units of its type; a skipped one passes through without a decision.

    `confirm_at`: evidence that confirms this test of the run, see `ledger.confirm_threshold`; None is
    `gate.e_confirm`. `tell`: hears how far the climb is, only to be shown. `in_flight`: units on which the
    candidate is asked together; None is as many as the agent can.
    """
    if candidate.status == "skipped":
        return GateResult(task_type=candidate.task_type, candidate=candidate, decision=None)
    ladder = build_ladder(units, candidate.pack_units, state.p_hat, state.unit_outcomes(units), config, seed)
    after = texts.with_skill(candidate.path, candidate.text, "candidate")
    old, new = Side(texts, state.correctness), Side(after)
    draws = draws_of(config, state.step)
    terms = _terms(candidate, units, ladder, config, confirm_at)
    decision = run_gate(
        ladder,
        lambda asked: draw_sides(agent, [old], draws, asked)[0],
        lambda asked: draw_sides(agent, [new], draws, asked)[0],
        config,
        # What is known is the first draw: it bounds the wins only where there is no other.
        known=_known(agent, texts, state, units) if draws == range(1) else {},
        in_flight=in_flight or agent.slots,
        terms=terms,
        tell=lambda rung, numbers: tell(_progress(rung, numbers, ladder, terms, config)),
    )
    return _result(candidate, decision, old.rows, new.rows)


def _result(
    candidate: Candidate,
    decision: Decision,
    baseline_rows: Sequence[Prediction],
    candidate_rows: Sequence[Prediction],
) -> GateResult:
    used = {row.unit_id for row in (*decision.evidence, *decision.shadow)}
    # What `gate.shadow` asks for may have been in flight already
    once = {(row.question_id, row.replicate): row for row in candidate_rows if row.unit_id in used}
    return GateResult(
        task_type=candidate.task_type,
        candidate=candidate,
        decision=decision,
        baseline_rows=tuple(baseline_rows),
        # An outcome behind a stop was asked for, but the decision must not depend on it.
        candidate_rows=tuple(once.values()),
    )


def _progress(
    rung: int, numbers: GateNumbers, ladder: Sequence[Sequence[Unit]], terms: Terms, config: Gate
) -> dict[str, Any]:
    return {
        **numbers.model_dump(mode="json"),
        "rung": rung + 1,
        "rungs": len(ladder),
        "most": terms.prior.n + sum(map(len, ladder)),
        "confirm_at": terms.confirm_at,
        "provisional_at": config.e_provisional,
    }


def _terms(
    candidate: Candidate,
    units: Sequence[Unit],
    ladder: Sequence[Sequence[Unit]],
    config: Gate,
    confirm_at: float | None,
) -> Terms:
    """It may be carried on as long as units of the type are neither in its pack nor on its ladder."""
    free = {unit.unit_id for unit in units} - set(candidate.pack_units)
    return Terms(
        confirm_at=config.e_confirm if confirm_at is None else confirm_at,
        prior=candidate.prior,
        may_carry=len(free) > sum(map(len, ladder)) and candidate.steps_carried < config.carry_steps,
    )


def draws_of(config: Gate, step: int) -> range:
    """Numbers of the draws of each unit: 0 is the rollout everybody knows, others are the step's own."""
    first = 1 + step * config.replicates if config.fresh_baseline else 0
    return range(first, first + config.replicates)


@dataclass(frozen=True)
class Side:
    """One side of a comparison; what was rolled out goes to `rows`."""

    texts: Texts
    known: Mapping[str, Observation] = field(default_factory=dict)
    rows: list[Prediction] = field(default_factory=list)


def draw_sides(
    agent: Agent, sides: Sequence[Side], draws: range, units: Sequence[Unit]
) -> list[list[float | None]]:
    """Outcomes of the units for each side by the draws numbered `draws`, all rolled out together."""
    questions = questions_of(units)
    wanted = [
        Rollouts(questions, side.texts, replicate, side.known if replicate == 0 else {})
        for side in sides
        for replicate in draws
    ]
    found = iter(agent.run_together(wanted))
    return [_shares([next(found) for _ in draws], side, units) for side in sides]


def _shares(draws: Sequence[list[Prediction]], side: Side, units: Sequence[Unit]) -> list[float | None]:
    right = []
    for rows in draws:
        side.rows.extend(rows)
        right.append({row.question_id: row.right for row in rows})
    return [share_right([unit_right(unit, each) for each in right]) for unit in units]


def _known(agent: Agent, texts: Texts, state: State, units: Sequence[Unit]) -> dict[str, bool]:
    out = {}
    for unit in units:
        right = agent.known(unit.questions, texts, state.correctness)
        outcome = unit_right(unit, right)
        if outcome is not None:
            out[unit.unit_id] = outcome
    return out
