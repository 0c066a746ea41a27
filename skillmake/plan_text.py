"""The plan of a run as text: tables, what they assume, and what is wrong with it."""

from collections.abc import Sequence

from skillmake.config.models import Config
from skillmake.forecast import Stage, forecast, fresh_draws, total
from skillmake.planning import SIMULATIONS, Assumed, TypePlan, plan_types, sight_warnings, trial
from skillmake.start import Start
from skillmake.terminal import number, share, table_text


def plan_text(start: Start, assumed: Assumed, runs: int = SIMULATIONS) -> str:
    """All that `skillmake plan` prints; DataError when no type could have a candidate accepted."""
    batches = trial(start, assumed)
    plans = plan_types(start, assumed, batches, runs)
    stages = forecast(start, plans, batches)
    lines = [f"not trained: {name}: {reason}" for name, reason in sorted(start.split.dropped.items())]
    warnings = [*sight_warnings(plans, assumed), *cap_warnings(stages, start.config)]
    return "\n".join(
        [
            types_table(plans, assumed) + "".join(f"{line}\n" for line in lines),
            stages_table(stages, start.config),
            *(f"- {line}" for line in assumptions(start.config, assumed, len(batches.batches), runs)),
            *(f"warning: {line}" for line in warnings),
            "",
        ]
    )


def types_table(plans: Sequence[TypePlan], assumed: Assumed) -> str:
    """A row per type; what its columns mean is the first of the assumptions."""
    title = f"What the gate can see at accuracy {assumed.accuracy:g} and churn {assumed.churn:g}"
    columns = (
        "task type",
        "validation",
        "ladder",
        "confirmable",
        f"power {assumed.power:g}",
        "no-op",
        "good",
    )
    rows = [
        (
            plan.task_type,
            str(plan.validation),
            str(plan.ladder),
            share(plan.confirm_lift),
            share(plan.lift),
            number(plan.units_no_op if plan.acceptable else None),
            number(plan.units_good),
        )
        for plan in plans
    ]
    return table_text(title, columns, rows)


def stages_table(stages: Sequence[Stage], config: Config) -> str:
    """A row per stage of the run and one for all."""
    title = f"Calls of the whole run, {config.train.epochs} epochs"
    columns = ("stage", "calls", "", "prompt tokens", "answer tokens", "money")
    rows = [
        (
            stage.stage,
            f"{stage.calls:,}",
            stage.bound,
            f"{stage.prompt_tokens:,}",
            f"{stage.answer_tokens:,}",
            f"{stage.money:,.4f}",
        )
        for stage in [*stages, total(stages)]
    ]
    return table_text(title, columns, rows)


def assumptions(config: Config, assumed: Assumed, steps: int, runs: int) -> list[str]:
    """What the numbers rest on, one line each."""
    gate, by_model = config.gate, config.evolve.teacher == "llm"
    outside = " and diagnosis units outside of an average batch" if gate.use_diagnosis else ""
    baseline = "drawn anew on the whole ladder" if fresh_draws(gate) else "looked up"
    prompts = (
        "what the teacher adds to a skill is not counted"
        if by_model
        else "after the baseline with the worked examples that the exemplar teacher adds"
    )
    teacher = (
        "a call per type and step without a repair try, each answer of models.teacher.max_tokens"
        if by_model
        else "the exemplar teacher asks no model"
    )
    return [
        "confirmable: smallest lift that could be confirmed at all, at the first step; "
        f"power {assumed.power:g}: smallest lift accepted, at least on probation, with that probability",
        "no-op, good: mean units asked of a candidate without a lift, and of one at that lift",
        f"ladder: validation units{outside}, at most gate.n_max = {gate.n_max}",
        f"each lift: {runs} simulated candidates, with one draw of a unit for each side and nothing carried",
        "exactly: from an empty cache; at most: an answer to the same text is not paid again",
        f"steps: {steps} in each epoch, with {assumed.accuracy:g} right; an early stop saves some",
        "gates: a candidate per type and step, on the larger of the two mean numbers of units; "
        f"its baseline is {baseline}",
        f"prompts: four characters a token, rendered with the seed texts; {prompts}",
        f"answers: as long as the right ones, at most {config.models.student.max_tokens} tokens",
        f"teacher: {teacher}; the diagnosis is by rule and asks no judge",
        "money: models.*.price_in and price_out, per million tokens",
    ]


def cap_warnings(stages: Sequence[Stage], config: Config) -> list[str]:
    """A line per cap of the run that it is expected to reach."""
    everything, limits = total(stages), config.limits
    tokens = everything.prompt_tokens + everything.answer_tokens
    expected = {
        "max_calls": (everything.calls, limits.max_calls),
        "max_tokens": (tokens, limits.max_tokens),
        "max_cost": (everything.money, limits.max_cost),
    }
    return [
        f"limits.{name}: the run may need {value:,g} and stops at {cap:,g}"
        for name, (value, cap) in expected.items()
        if cap is not None and value > cap
    ]
