"""Import mapping: how rows of foreign files become questions (SPEC §2); checked before a row is read."""

import json
import re
from collections.abc import Mapping as Table
from pathlib import Path
from string import Formatter
from typing import Any, Literal, get_args

import jmespath
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from skillmake.errors import DataError
from skillmake.questions import did_you_mean

ALL_TYPES = "*"


class Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskTypeRule(Rule):
    """One of: `value` (column, path or template), `fixed`, `from_label` (label → type)."""

    value: str | None = Field(None, min_length=1)
    fixed: str | None = Field(None, min_length=1)
    from_label: dict[str, str] | None = Field(None, min_length=1)
    strict: bool = Field(
        False, description="A label without a type, or a type's label without a row, is an error."
    )

    @model_validator(mode="after")
    def _one(self) -> "TaskTypeRule":
        _only_one(self, "value", "fixed", "from_label")
        if self.strict and self.from_label is None:
            raise ValueError("`strict` is for `from_label`")
        return self


class AnswerNames(Rule):
    """New names of labels: a `table` of whole labels, else texts to `replace` inside of a label."""

    table: dict[str, str] = Field(default_factory=dict)
    replace: dict[str, str] = Field(default_factory=dict)


class OptionsRule(Rule):
    """One of `value`, `columns`, `fixed`, `pattern`, `sample`, `labels_of_type`; `per_type` goes before it.

    `value`: column, path or template with a list, or a text to be split at `separator`.
    `pattern`: regular expression for one option in the question, groups `text` and maybe `key`;
    `block`: expression for what opens the options: the question ends there. `sample`: that many labels of the
    type, the answer among them, in seeded order. `labels_of_type`: all labels of the type, sorted.
    `keys`: how the answer refers to the options, in their order, when it does not repeat their text.
    """

    value: str | None = Field(None, min_length=1)
    separator: str | None = Field(None, min_length=1)
    columns: tuple[str, ...] | None = Field(None, min_length=2)
    fixed: tuple[str, ...] | None = Field(None, min_length=2)
    pattern: str | None = None
    block: str | None = None
    sample: int | None = Field(None, ge=2)
    labels_of_type: bool = False
    per_type: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    keys: tuple[str, ...] | None = None

    @field_validator("pattern", "block")
    @classmethod
    def _expression(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return value

    @model_validator(mode="after")
    def _one(self) -> "OptionsRule":
        sources = ("value", "columns", "fixed", "pattern", "sample", "labels_of_type")
        if not self.per_type or any(getattr(self, name) for name in sources):
            _only_one(self, *sources)
        if self.pattern is not None and "text" not in re.compile(self.pattern).groupindex:
            raise ValueError("`pattern` needs a group (?P<text>…)")
        for name, needs in (("separator", "value"), ("block", "pattern")):
            if getattr(self, name) is not None and getattr(self, needs) is None:
                raise ValueError(f"`{name}` is for `{needs}`")
        return self


class PairsRule(Rule):
    """One of: `table` (JSON list beside the first source: rows `a` and `b`, counted from 0, of the source
    whose stem is in the field `source`, are the pair `pair`), `permute_options` (true, or task types:
    each of their questions and its copy with reversed options are a pair)."""

    table: str | None = Field(None, min_length=1)
    pair: str = "pair"
    source: str = "task_type"
    a: str = "a"
    b: str = "b"
    permute_options: tuple[str, ...] | None = None

    @field_validator("permute_options", mode="before")
    @classmethod
    def _all(cls, value: Any) -> Any:
        return {True: (ALL_TYPES,), False: None}[value] if isinstance(value, bool) else value

    @model_validator(mode="after")
    def _one(self) -> "PairsRule":
        _only_one(self, "table", "permute_options")
        return self


class Mapping(Rule):
    """How rows become questions.

    A *value* with braces is a template of columns and of `row` (from 1), `stem` (of the source's name),
    `task_type` and `slug` (of the type); else it is a column, else (not csv) a JMESPath into the row.
    A *label* is the answer as it is in the source.
    """

    format: Literal["csv", "json", "jsonl"]
    delimiter: str = Field(",", min_length=1, max_length=1, description="`csv`: what separates cells.")
    rows: str | None = Field(None, description="`json`: JMESPath of the list of rows; null is the document.")
    where: str | None = Field(
        None, description="JMESPath over a row; rows for which it is not true are left out."
    )
    id: str = Field(min_length=1, description="Value: id of the question.")
    question: str = Field(min_length=1, description="Value: text of the question.")
    answer: str = Field(min_length=1, description="Value: label of the right answer.")
    task_type: TaskTypeRule
    answer_names: AnswerNames = Field(default_factory=AnswerNames)
    options: OptionsRule | None = None
    pairs: PairsRule | None = None
    limit_per_label: int | None = Field(
        None, ge=1, description="Most rows of a label in a type, drawn by seed."
    )
    seed: int = Field(1, ge=0, description="Seed of limit_per_label and options.sample.")
    skip: tuple[str, ...] = Field((), description="Ids to leave out: known defects of the source.")
    context: str | None = Field(None, description="Value: context of the question.")
    video_id: str | None = Field(None, description="Value: video of the question.")
    meta: dict[str, str] = Field(default_factory=dict, description="Name in meta → value.")
    document_meta: dict[str, str] = Field(
        default_factory=dict, description="`json`: name in meta → JMESPath into the document."
    )

    @field_validator("task_type", "options", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"value": value}
        return {"fixed": value} if isinstance(value, list) else value

    @field_validator("rows", "where")
    @classmethod
    def _path(cls, value: str | None) -> str | None:
        if value is not None:
            _check_path(value)
        return value

    @model_validator(mode="after")
    def _together(self) -> "Mapping":
        if self.format != "json" and (self.rows is not None or self.document_meta):
            raise ValueError("`rows` and `document_meta` are for format json")
        for path in self.document_meta.values():
            _check_path(path)
        options = self.options.value if self.options is not None else None
        values = (self.id, self.question, self.answer, self.context, self.video_id, self.task_type.value)
        for value in (*values, options, *self.meta.values()):
            template_parts(value or "")
        if self.limit_per_label is not None and self.pairs is not None and self.pairs.table is not None:
            raise ValueError("`limit_per_label` would tear the pairs of `pairs.table` apart")
        return self


def load_mapping(path: str | Path) -> Mapping:
    """Read a mapping file; a DataError lists each problem: key, value, what is allowed, closest key."""
    try:
        value = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not valid YAML: {error}") from None
    return parse_mapping(value, str(path))


def parse_mapping(value: Any, name: str) -> Mapping:
    """Check a mapping given as a tree; `name` is what the DataError calls it."""
    if not isinstance(value, dict):
        raise DataError(f"{name}: expected `key: value` lines, got {json.dumps(value, default=str)}")
    try:
        return Mapping.model_validate(value)
    except ValidationError as error:
        problems = [f"{name}: {_explain(problem)}" for problem in error.errors()]
        raise DataError("\n".join(problems), "correct the mapping and run again") from None


def is_template(value: str) -> bool:
    """Whether a value of the mapping is a template rather than a column or path."""
    return "{" in value


def template_parts(template: str) -> list[tuple[str, str | None, str]]:
    """(text before, name or None at the end, format) of a template; ValueError if it is not one."""
    parts = []
    for text, name, spec, conversion in Formatter().parse(template):
        if name is not None and (
            not name or conversion or re.search(r"[.\[\]]", name) or "{" in (spec or "")
        ):
            raise ValueError(f"template {template!r}: a field is {{column}} or {{column:format}}")
        parts.append((text, name, spec or ""))
    return parts


def _only_one(rule: BaseModel, *names: str) -> None:
    given = [name for name in names if getattr(rule, name)]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise ValueError(f"needs exactly one of {', '.join(names)}, has {found}")


def _check_path(path: str) -> None:
    try:
        jmespath.compile(path)
    except jmespath.exceptions.JMESPathError as error:
        raise ValueError(f"not a JMESPath: {str(error).splitlines()[0]}") from None


def _explain(problem: Table[str, Any]) -> str:
    path = [str(part) for part in problem["loc"]]
    name = ".".join(path)
    known = list(_model_at(path[:-1]).model_fields)
    if problem["type"] == "extra_forbidden":
        return f"unknown key `{name}`.{did_you_mean(path[-1], known)} Allowed here: {', '.join(known)}"
    if problem["type"] == "missing":
        return f"missing key `{name}`"
    message = problem["msg"].removeprefix("Value error, ")
    given = problem["input"]
    if not path or isinstance(given, BaseModel):
        return f"{name}: {message}" if path else message
    quote = "; quote it" if problem["type"] == "string_type" and isinstance(given, (bool, int, float)) else ""
    return f"{name}: {message}, got {json.dumps(given, ensure_ascii=False, default=str)}{quote}"


def _model_at(path: list[str]) -> type[BaseModel]:
    model: type[BaseModel] = Mapping
    for part in path:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        for inner in (annotation, *get_args(annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                model = inner
    return model
