"""A run in this process: the scripts of the DAG by its own rules, without a process and a start-up for each.

A run of the rehearsal world costs seconds this way and minutes with Snakemake, and leaves the same artefacts
but for their stamps (tests/integration/test_judges.py). What is made from what is read from the Snakefile
with Snakemake's own parser; `Rules` stands in for its workflow and only notes what the rules say. Answers
and results are kept in memory, where a run with other parameters finds what they do not touch.
"""

import os
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, SimpleNamespace
from typing import Any, TextIO
from unittest.mock import patch

from snakemake.parser import parse  # type: ignore[import-untyped]
from snakemake.sourcecache import LocalSourceFile  # type: ignore[import-untyped]

from skillmake.artifacts import digest, read_json, sha256
from skillmake.benchmark import Benchmark
from skillmake.job import Job, read_io, run_script
from skillmake.llm.types import ChatResponse

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "rules", "scripts", "skillmake", "prompts", "data")
IN_MEMORY = Path("/dev/shm")
Change = Callable[[Job], dict[str, Any]]  # results of a job → those that are written instead


class Memory:
    """What is kept between runs in a workshop: answers by call key, results by what they are made from."""

    def __init__(self) -> None:
        self.answers: dict[str, ChatResponse] = {}
        self.results: dict[str, dict[str, Any]] = {}
        self._benchmarks: dict[bytes, Benchmark] = {}
        self._read = Benchmark.read

    def benchmark(self, questions: Path, pools: Path) -> Benchmark:
        key = questions.read_bytes() + pools.read_bytes()
        if key not in self._benchmarks:
            self._benchmarks[key] = self._read(questions, pools)
        return self._benchmarks[key]


class MemoryCache:
    """The call cache in memory; in one process nobody else pays the same call."""

    def __init__(self, answers: dict[str, ChatResponse]) -> None:
        self._answers, self.get = answers, answers.get

    @contextmanager
    def room(self, key: str, _: int) -> Iterator[Callable[[ChatResponse], None]]:
        yield partial(self._answers.__setitem__, key)

    @asynccontextmanager
    async def paying(self, _: str) -> AsyncIterator[None]:
        yield


class NoMeter:
    """Counts nothing: the calls of a run are counted from its artefacts."""

    def __init__(self, *_: Any) -> None: ...

    def reserve(self) -> None: ...

    def pay(self, *_: Any) -> None: ...

    def log(self, *_: Any, **__: Any) -> None: ...


@contextmanager
def checkout() -> Iterator[Path]:
    """A folder with the project's parts and an empty cache, as the current directory."""
    here, environment = Path.cwd(), dict(os.environ)
    place = IN_MEMORY if IN_MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="skillmake-", dir=place) as name:
        for part in PARTS:
            Path(name, part).symlink_to(ROOT / part)
        os.environ["SKILLMAKE_CACHE"] = f"{name}/cache"
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(environment)


@contextmanager
def workshop() -> Iterator[Memory]:
    """A checkout for any number of runs, one by one, that share what they ask for and make."""
    memory = Memory()
    with (
        checkout(),
        patch("skillmake.llm.factory.CallCache", lambda _: MemoryCache(memory.answers)),
        patch("skillmake.llm.factory.Meter", NoMeter),
        patch.object(Benchmark, "read", memory.benchmark),
        patch("skillmake.codehash.code_digest", lambda _: ""),  # only stamps hold it
    ):
        yield memory


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
    is_main_process = remote_exec = False
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
    """Makes files as the rules say; each is made once.

    `changes`: what is done to the results of a rule's job, by rule. `made`: the files made so far.
    `rules`: those of the Snakefile, by name.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        memory: Memory | None = None,
        changes: Mapping[str, Change] | None = None,
    ) -> None:
        def plan(e: str) -> SimpleNamespace:
            path = f"runs/{config['run']}/e{e}/plan.json"
            self.make(path)
            return SimpleNamespace(output=[Path(path)])

        self._memory, self._changes = memory or Memory(), changes or {}
        self.made = set[str]()
        self.rules = Rules(config, SimpleNamespace(plan=SimpleNamespace(get=plan))).found
        assert set(self._changes) <= set(self.rules), "a change of a rule that is not there changes nothing"

    def train(self) -> dict[str, Any]:
        """The metrics of the whole run; raises what a rule raises."""
        self.make("metrics.json")
        metrics: dict[str, Any] = read_json("metrics.json")
        return metrics

    def given(self, paths: Iterable[str]) -> None:
        """Take files that lie there for made."""
        self.made |= set(paths)

    def make(self, path: str) -> None:
        """The file and, before it, what it is made from; a file without a rule must be there."""
        if path in self.made:
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
        for name, result in self._results(rule.name, params["cfg"], io).items():
            _put(Path(outputs[name]), result)
        self.made |= set(outputs.values())

    def _results(self, rule: str, config: str, io: Mapping[str, Any]) -> dict[str, Any]:
        change = self._changes.get(rule)
        contents = {path: sha256(Path(path).read_bytes()) for path in _flat(io["inputs"].values())}
        key = digest([rule, config, io["wildcards"], io["inputs"], contents, change and change.__name__])
        results = self._memory.results.get(key)
        if results is None:
            job = run_script(rule, config, io)
            results = change(job) if change else job.results
            if job.is_reusable:
                self._memory.results[key] = results
        return results


def _put(path: Path, result: str | Mapping[str, str]) -> None:
    files = (
        {path: result} if isinstance(result, str) else {path / name: text for name, text in result.items()}
    )
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


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


def _opened(file: Any) -> TextIO:
    return StringIO(Path(file.path).read_text(encoding="utf-8"))


@cache
def _compiled(path: str) -> CodeType:
    workflow = SimpleNamespace(sourcecache=SimpleNamespace(open=_opened))
    source, _ = parse(LocalSourceFile(str(ROOT / path)), workflow, {})
    return compile(source, path, "exec")
