"""A run in this process: the scripts of the DAG by its own rules, without a process and a start-up for each.

A run of the rehearsal world costs seconds this way and minutes with Snakemake, and leaves the same bytes
(tests/integration/test_judges.py). What to make from what is read from the Snakefile with Snakemake's own
parser; `Rules` stands in for its workflow and only notes what the rules say.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, SimpleNamespace
from typing import Any

from snakemake.parser import parse
from snakemake.sourcecache import LocalSourceFile

from skillmake.artifacts import read_json
from skillmake.job import put_results, read_io, results_of

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "rules", "scripts", "skillmake", "prompts", "data")
# The results of a script, by output name, and its inputs and outputs → the results that are written.
Change = Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]]


@contextmanager
def checkout(environment: Mapping[str, str] | None = None) -> Iterator[Path]:
    """A folder with the project's parts and an empty cache, as the current directory."""
    before, here = dict(os.environ), Path.cwd()
    with TemporaryDirectory(prefix="skillmake-") as name:
        for part in PARTS:
            Path(name, part).symlink_to(ROOT / part)
        os.environ |= {"SKILLMAKE_CACHE": f"{name}/cache", **(environment or {})}
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)


@dataclass
class Rule:
    """What a rule says: the arguments of each of its parts, by keyword."""

    name: str
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def wildcards(self, path: str) -> dict[str, str] | None:
        """Values of the wildcards with which the rule makes `path`; None where it does not."""
        for pattern in self.parts.get("output", {}).values():
            if found := _regex(pattern).fullmatch(path):
                return found.groupdict()
        return None


class Rules:
    """The rules of the Snakefile for a configuration, by name."""

    basedir = ROOT
    is_main_process = False
    global_resources: Mapping[str, Any] = {}
    config_settings = SimpleNamespace(config={})  # of the command line

    def __init__(self, config: Mapping[str, Any], checkpoints: Any) -> None:
        self.found: dict[str, Rule] = {}
        self._names = {"workflow": self, "config": config, "checkpoints": checkpoints, "directory": str}
        self.include("Snakefile")

    def include(self, path: str) -> None:
        exec(_compiled(path), self._names)

    def rule(self, name: str, **_: Any) -> Callable[[dict[str, Any]], None]:
        def note(parts: dict[str, Any]) -> None:
            self.found[name] = Rule(name, parts)

        return note

    def run(self, _: Any) -> dict[str, Any]:
        """The innermost decorator of a rule."""
        return {}

    def __getattr__(self, part: str) -> Callable[..., Any]:
        """A decorator that notes its arguments; a plain statement of the Snakefile notes nothing."""
        return lambda *args, **named: lambda parts: {**parts, part: {**dict(enumerate(args)), **named}}


class Run:
    """Makes files as the rules say; each is made once. `changes`: what is done to results, by rule."""

    def __init__(self, config: Mapping[str, Any], changes: Mapping[str, Change] | None = None) -> None:
        def plan(e: str) -> SimpleNamespace:
            path = f"runs/{config['run']}/e{e}/plan.json"
            self.make(path)
            return SimpleNamespace(output=[Path(path)])

        self._changes, self._made = changes or {}, set[str]()
        self.rules = Rules(config, SimpleNamespace(plan=SimpleNamespace(get=plan))).found

    def train(self) -> dict[str, Any]:
        """The metrics of the whole run; raises what a rule raises."""
        self.make("metrics.json")
        metrics: dict[str, Any] = read_json("metrics.json")
        return metrics

    def given(self, paths: Iterable[str]) -> None:
        """Take files that lie there for made."""
        self._made |= set(paths)

    def make(self, path: str) -> None:
        """The file and, before it, what it is made from; a file without a rule must be there."""
        if path in self._made:
            return
        for rule in self.rules.values():
            if (wildcards := rule.wildcards(path)) is not None:
                self._run(rule, wildcards)
                return
        assert Path(path).exists(), f"no rule makes {path}"

    def _run(self, rule: Rule, wildcards: Mapping[str, str]) -> None:
        w = SimpleNamespace(**wildcards)
        inputs = {name: _paths(given, w) for name, given in rule.parts.get("input", {}).items()}
        outputs = {name: text.format(**wildcards) for name, text in rule.parts["output"].items()}
        for path in _flat(inputs.values()):
            self.make(path)
        params = rule.parts["params"]
        io = read_io(params["io"](wildcards, inputs, outputs))
        results = results_of(rule.name, params["code"], params["cfg"], io)
        if rule.name in self._changes:
            results = self._changes[rule.name](results, io)
        put_results(results, rule.name, params["code"], io)
        self._made |= set(outputs.values())


def _value(given: Any, wildcards: SimpleNamespace) -> Any:
    return given(wildcards) if callable(given) else given


def _paths(given: Any, wildcards: SimpleNamespace) -> str | list[str]:
    value = _value(given, wildcards)
    if isinstance(value, str):
        return value.format(**vars(wildcards))
    return [path.format(**vars(wildcards)) for path in value]


def _flat(values: Iterable[str | list[str]]) -> list[str]:
    return [path for value in values for path in ([value] if isinstance(value, str) else value)]


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(pattern)))


@cache
def _compiled(path: str) -> CodeType:
    workflow = SimpleNamespace(
        sourcecache=SimpleNamespace(open=lambda file: StringIO(Path(file.path).read_text()))
    )
    source, _ = parse(LocalSourceFile(str(ROOT / path)), workflow, {})  # type: ignore[arg-type]
    return compile(source, path, "exec")
