"""Import of foreign files: rows of CSV, JSON or JSONL → checked questions, as a mapping says (SPEC §2)."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jmespath

from skillmake import mapping as rules
from skillmake.errors import DataError
from skillmake.import_rows import Problems, Row, as_text, look_up, read_rows, text_of
from skillmake.questions import Question, check_questions, did_you_mean, make_question, slug
from skillmake.units import seeded_shuffle


@dataclass
class Draft:
    """A question in the making: its row, its label, and the keys of a question so far."""

    row: Row
    label: str
    value: dict[str, Any]


def import_questions(
    source_paths: Sequence[str | Path], mapping: rules.Mapping, say: Callable[[str], None] = lambda _: None
) -> list[Question]:
    """Questions of all sources, sorted by id and fit to be written by `dump_questions`.

    `say` gets one line for everything that was left out, with its count. DataError lists the rows that
    cannot be questions. A `pairs.table` is looked up beside the first source.
    """
    paths = [Path(path) for path in source_paths]
    if not paths:
        raise DataError("no source to import", "name at least one file")
    rows = [
        row
        for path in paths
        for row in read_rows(path, mapping.format, mapping.rows, mapping.delimiter, mapping.document_meta)
    ]
    problems = Problems()
    drafts = _drafts(_where(rows, mapping, say), mapping, problems, say)
    labels: dict[str, set[str]] = {}
    for draft in drafts:
        labels.setdefault(draft.value["task_type"], set()).add(draft.value["answer"])
    drafts = _limited(_not_skipped(drafts, mapping, say), mapping)
    for draft in drafts:
        try:
            _fill(draft, mapping, labels[draft.value["task_type"]])
        except ValueError as error:
            problems.add(draft.row, str(error))
    problems.stop_if_any()
    return _checked(_paired(drafts, rows, paths, mapping, say), problems)


def _where(rows: Sequence[Row], mapping: rules.Mapping, say: Callable[[str], None]) -> list[Row]:
    if mapping.where is None:
        return list(rows)
    try:
        kept = [row for row in rows if jmespath.search(mapping.where, row.cells) is True]
    except jmespath.exceptions.JMESPathError as error:
        raise DataError(f"where: {mapping.where}: {str(error).splitlines()[0]}") from None
    if not kept:
        raise DataError(f"where: {mapping.where} is true for none of {len(rows)} rows", "correct `where`")
    say(f"left out {len(rows) - len(kept)} rows for which `where` is not true")
    return kept


def _drafts(
    rows: Iterable[Row], mapping: rules.Mapping, problems: Problems, say: Callable[[str], None]
) -> list[Draft]:
    drafts, unknown = [], dict[str, int]()
    for row in rows:
        try:
            label = text_of(mapping.answer, row, {})
            task_type = _task_type(row, label, mapping.task_type)
            if task_type is None:
                unknown[label] = unknown.get(label, 0) + 1
                continue
            names = {"task_type": task_type, "slug": slug(task_type)}
            answer = mapping.answer_names.table.get(label, label)
            for old, new in mapping.answer_names.replace.items():
                answer = answer.replace(old, new)
            value = {"question_id": text_of(mapping.id, row, names), "task_type": task_type, "answer": answer}
            drafts.append(Draft(row, label, value))
        except DataError as error:
            problems.add(row, error.message)
        except ValueError as error:
            problems.add(row, str(error))
    if unknown:
        say(f"skipped {sum(unknown.values())} rows of {len(unknown)} labels without a task type")
    problems.stop_if_any()
    _check_labels(drafts, unknown, mapping.task_type, say)
    return drafts


def _task_type(row: Row, label: str, rule: rules.TaskTypeRule) -> str | None:
    if rule.from_label is not None:
        if rule.strict and label not in rule.from_label:
            hint = did_you_mean(label, rule.from_label)
            raise ValueError(f"label {label!r} has no type in task_type.from_label.{hint}")
        return rule.from_label.get(label)
    return rule.fixed if rule.fixed is not None else text_of(rule.value or "", row, {})


def _check_labels(
    drafts: Sequence[Draft], unknown: Iterable[str], rule: rules.TaskTypeRule, say: Callable[[str], None]
) -> None:
    seen = {draft.label for draft in drafts}
    for label in sorted(set(rule.from_label or ()) - seen):
        message = f"task_type.from_label: no row has the label {label!r}.{did_you_mean(label, unknown)}"
        if rule.strict:
            raise DataError(message, "correct the label or give all sources")
        say(message)


def _not_skipped(drafts: Sequence[Draft], mapping: rules.Mapping, say: Callable[[str], None]) -> list[Draft]:
    kept = [draft for draft in drafts if draft.value["question_id"] not in mapping.skip]
    if mapping.skip:
        say(f"left out {len(drafts) - len(kept)} questions listed under `skip`")
    return kept


def _limited(drafts: Sequence[Draft], mapping: rules.Mapping) -> list[Draft]:
    if mapping.limit_per_label is None:
        return list(drafts)
    groups: dict[tuple[str, str], list[Draft]] = {}
    for draft in drafts:
        groups.setdefault((draft.value["task_type"], draft.label), []).append(draft)
    out: list[Draft] = []
    for (task_type, label), group in groups.items():
        parts = ("limit_per_label", mapping.seed, task_type, label)
        out += seeded_shuffle(group, lambda draft: str(draft.value["question_id"]), *parts)[
            : mapping.limit_per_label
        ]
    return out


def _fill(draft: Draft, mapping: rules.Mapping, labels: Iterable[str]) -> None:
    """Add the text, the options and the rest; ValueError if the row lacks what they need."""
    names = {"task_type": draft.value["task_type"], "slug": slug(draft.value["task_type"])}
    value = draft.value
    value["question"] = text_of(mapping.question, draft.row, names)
    for key, where in (("context", mapping.context), ("video_id", mapping.video_id)):
        if where is not None:
            value[key] = text_of(where, draft.row, names)
    value["meta"] = {
        **draft.row.meta,
        **{key: look_up(path, draft.row, names) for key, path in mapping.meta.items()},
    }
    if mapping.options is None:
        return
    options = _options(draft, mapping.options, mapping.seed, sorted(labels))
    keys = mapping.options.keys
    if options is not None and keys is not None and draft.label in keys[: len(options)]:
        value["answer"] = options[keys.index(draft.label)]
    value["options"] = options
    _, found = make_question(value)
    if found:
        raise ValueError("; ".join(found))


def _options(draft: Draft, rule: rules.OptionsRule, seed: int, labels: Sequence[str]) -> list[str] | None:
    value, row = draft.value, draft.row
    if value["task_type"] in rule.per_type:
        return list(rule.per_type[value["task_type"]])
    if rule.pattern is not None:
        return _cut_out(draft, rule.pattern, rule.block)
    if rule.fixed is not None:
        return list(rule.fixed)
    if rule.columns is not None:
        return [text_of(column, row, {}) for column in rule.columns]
    if rule.value is not None:
        found = look_up(rule.value, row, {})
        if isinstance(found, str):
            found = found.split(rule.separator) if rule.separator else [found]
        return [as_text(option, rule.value) for option in found]
    if rule.sample is not None:
        parts = (seed, value["question_id"])
        others = [label for label in labels if label != value["answer"]]
        drawn = seeded_shuffle(others, str, "sample", *parts)[: rule.sample - 1]
        return seeded_shuffle([value["answer"], *drawn], str, "order", *parts)
    return list(labels) if rule.labels_of_type else None


def _cut_out(draft: Draft, pattern: str, block: str | None) -> list[str] | None:
    text = body = draft.value["question"]
    if block is not None:
        start = re.search(block, text)
        if start is None:
            return None
        draft.value["question"], body = text[: start.start()].rstrip(), text[start.end() :]
    found = list(re.finditer(pattern, body, re.MULTILINE))
    if block is not None and not found:
        raise ValueError("no option matches options.pattern after options.block")
    for match in found:
        if match.groupdict().get("key") == draft.label:
            draft.value["answer"] = match["text"].strip()
    return [match["text"].strip() for match in found] or None


def _paired(
    drafts: list[Draft],
    rows: Sequence[Row],
    paths: Sequence[Path],
    mapping: rules.Mapping,
    say: Callable[[str], None],
) -> list[Draft]:
    rule = mapping.pairs
    if rule is None:
        return drafts
    if rule.table is not None:
        _pair_by_table(drafts, rows, paths[0].parent / rule.table, rule, say)
        return drafts
    types = {draft.value["task_type"] for draft in drafts}
    wanted = set(rule.permute_options or ())
    for name in sorted(wanted - types - {rules.ALL_TYPES}):
        raise DataError(
            f"pairs.permute_options: no question is of type {name!r}.{did_you_mean(name, types)}",
            f"the types are {', '.join(sorted(types))}",
        )
    out = []
    for draft in drafts:
        chosen = wanted & {draft.value["task_type"], rules.ALL_TYPES}
        out += _permuted(draft) if chosen else [draft]
    return out


def _permuted(draft: Draft) -> list[Draft]:
    unit_id, options = draft.value["question_id"], draft.value.get("options")
    if options is None:
        raise DataError(f"{draft.row.place}: pairs.permute_options needs options, {unit_id} has none")
    return [
        Draft(
            draft.row,
            draft.label,
            {**draft.value, "question_id": f"{unit_id}-{suffix}", "unit_id": unit_id, "options": order},
        )
        for suffix, order in (("a", options), ("b", options[::-1]))
    ]


def _pair_by_table(
    drafts: Sequence[Draft],
    rows: Sequence[Row],
    path: Path,
    rule: rules.PairsRule,
    say: Callable[[str], None],
) -> None:
    by_place = {(draft.row.source.stem, draft.row.number): draft for draft in drafts}
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[row.source.stem] = max(row.number, sizes.get(row.source.stem, 0))
    reasons: list[str] = []
    table = read_rows(path, "json")
    for entry in table:
        name, source, numbers = _table_entry(entry, rule)
        if source not in sizes:
            reasons.append("with a source that is not given")
            continue
        if not all(1 <= number <= sizes[source] for number in numbers):
            raise DataError(f"{path}: pair {name}: {source} has rows 0 to {sizes[source] - 1} only")
        members = [by_place[source, number] for number in numbers if (source, number) in by_place]
        if len(members) < 2:
            reasons.append("with a row that is left out")
        elif any("unit_id" in draft.value for draft in members):
            reasons.append("with a question of an earlier pair")
        else:
            for draft in members:
                draft.value["unit_id"] = name
    for reason in sorted(set(reasons)):
        say(f"left out {reasons.count(reason)} of {len(table)} pairs of {path.name}, {reason}")


def _table_entry(entry: Row, rule: rules.PairsRule) -> tuple[str, str, list[int]]:
    """(pair id, stem of the source, row numbers from 1) of an entry of the pair table."""
    try:
        numbers = [int(text_of(key, entry, {})) + 1 for key in (rule.a, rule.b)]
        if numbers[0] == numbers[1]:
            raise ValueError("a question cannot be its own twin")
        return text_of(rule.pair, entry, {}), text_of(rule.source, entry, {}), numbers
    except ValueError as error:
        raise DataError(f"{entry.source}: row {entry.number}: {error}", "correct `pairs`") from None


def _checked(drafts: Sequence[Draft], problems: Problems) -> list[Question]:
    found: list[tuple[str, Question]] = []
    for draft in drafts:
        question, wrong = make_question(draft.value)
        if question is not None:
            found.append((draft.row.place, question))
        for problem in wrong:
            problems.add(draft.row, problem)
    problems.stop_if_any()
    return check_questions(found, [], [], "import")
