"""What the run takes: calls, tokens and money by stage and model; with the logs, what it took here."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from skillmake.llm.cost import Price
from skillmake.metrics import Usage, usage
from skillmake.report.parts import Section, Table, count, cut, money, seconds
from skillmake.report.source import Source
from skillmake.tables.calls import CallRow

MOST = 12  # questions in a list
STAGE = ("stage", "model", "calls", "cache hits", "prompt tokens", "answer tokens", "money")
PAID = ("rule", "model", "paid", "cached", "failed", "tries again", "median s", "longest s", "all s", "money")
DEAR = ("question", "task type", "calls", "tokens", "money", "text")
SLOW = ("question", "task type", "calls", "seconds", "longest call s", "text")


def cost(source: Source) -> Section:
    """Tables by stage, and questions by what they take."""
    words = (
        "Counted from the artefacts: what the run takes from an empty cache, at the prices of `models.*`. "
        "A call counts in the first of these rows that asks for it; a repeat, which costs nothing, is a "
        "cache hit."
    )
    return Section("cost", "Cost", [words, _by_stage(source), _dearest(source), *_of_logs(source)])


def _price(source: Source, role: str) -> Price:
    return source.models[role].price if role in source.models else Price()


def _model(source: Source, role: str) -> str:
    return f"{role}: {source.models[role].name}" if role in source.models else role


def _money(price: Price, used: Usage) -> float:
    return (price.prompt * used.prompt_tokens + price.answer * used.completion_tokens) / 1e6


def list_price(source: Source) -> str:
    """Money of the whole run from an empty cache."""
    found = source.files.usage_by_phase()
    return money(sum(_money(_price(source, role), used) for (_, role), used in found.items()))


def paid_words(source: Source) -> str:
    """What stands behind that price, and what was really paid if the logs are there."""
    words = "from an empty cache, at list prices"
    if not any(model.price != Price() for model in source.models.values()):
        words = "no price is set in models.*"
    return words if source.logs is None else f"{words}; paid here: {money(source.logs.spent.cost)}"


def _by_stage(source: Source) -> Table:
    found = source.files.usage_by_phase()
    rows = [
        [phase, _model(source, role), *_numbers(used, _money(_price(source, role), used))]
        for (phase, role), used in found.items()
    ]
    total = Usage()
    for used in found.values():
        for name, value in vars(used).items():
            setattr(total, name, getattr(total, name) + value)
    cost_of_all = sum(_money(_price(source, role), used) for (_, role), used in found.items())
    rows.append(["all", "", *_numbers(total, cost_of_all)])
    return Table("Calls by stage and model", STAGE, rows, frozenset(STAGE[2:]))


def _numbers(used: Usage, cost: float) -> list[str]:
    whole = (used.calls, used.hits, used.prompt_tokens, used.completion_tokens)
    return [*map(count, whole), money(cost)]


def _question(source: Source, question_id: str) -> tuple[str, str]:
    """Task type and beginning of a question."""
    question = source.record.benchmark.questions[question_id]
    return question.task_type, cut(question.question, 100)


def _dearest(source: Source) -> Table:
    """Questions by what the student takes for them."""
    found = usage((row.question_id, row) for row in source.files.rows())
    price = _price(source, "student")
    tokens = {name: used.prompt_tokens + used.completion_tokens for name, used in found.items()}
    order = sorted(found, key=lambda name: (-_money(price, found[name]), -tokens[name], name))
    rows = []
    for name in order[:MOST]:
        used, (task_type, text) = found[name], _question(source, name)
        numbers = [count(used.calls), count(tokens[name]), money(_money(price, used))]
        rows.append([name, task_type, *numbers, text])
    return Table("Most expensive questions", DEAR, rows, frozenset(DEAR[2:5]))


def _of_logs(source: Source) -> Iterator[object]:
    if source.logs is None:
        yield (
            "Wall time and what was really paid are in the run's logs, which are no artefacts: "
            f"`skillmake report {source.run}` makes this page with them."
        )
        return
    spent = source.logs.spent
    yield f"As the logs have it, this run has paid {spent}."
    yield _paid(source, source.logs.calls)
    yield _slowest(source, source.logs.calls)


def _paid(source: Source, calls: Sequence[CallRow]) -> Table:
    groups: dict[tuple[str, str], list[CallRow]] = defaultdict(list)
    for call in calls:
        groups[call.rule, call.role].append(call)
    rows = [[rule, _model(source, role), *_timing(each)] for (rule, role), each in sorted(groups.items())]
    rows.append(["all", "", *_timing(calls)])
    return Table("Calls really made, by rule and model", PAID, rows, frozenset(PAID[2:]))


def _timing(calls: Sequence[CallRow]) -> list[str]:
    paid = [call for call in calls if not call.cached]
    times = [call.seconds for call in paid]
    counts = (
        len(paid),
        len(calls) - len(paid),
        sum(bool(call.error) for call in paid),
        sum(call.retries for call in paid),
    )
    spans = (median(times), max(times), sum(times)) if times else (0.0, 0.0, 0.0)
    return [*map(count, counts), *map(seconds, spans), money(sum(call.cost or 0.0 for call in paid))]


def _slowest(source: Source, calls: Sequence[CallRow]) -> Table:
    """Questions by the time that their paid calls took."""
    took = {call.key: call.seconds for call in calls if not call.cached}
    keys: dict[str, set[str]] = defaultdict(set)
    for row in source.files.rows():
        keys[row.question_id] |= took.keys() & set(row.calls)
    spans: Mapping[str, list[float]] = {
        name: [took[key] for key in sorted(each)] for name, each in keys.items()
    }
    order = sorted((name for name in spans if spans[name]), key=lambda name: (-sum(spans[name]), name))
    rows = []
    for name in order[:MOST]:
        times, (task_type, text) = spans[name], _question(source, name)
        numbers = [count(len(times)), seconds(sum(times)), seconds(max(times))]
        rows.append([name, task_type, *numbers, text])
    return Table("Slowest questions", SLOW, rows, frozenset(SLOW[2:5]))
