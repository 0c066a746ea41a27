"""The process of a rule: `python -m skillmake.job RULE CODE CONFIG IO`.

It looks the step up in the memo, else runs `scripts/<rule>.py`, stamps each JSON output with what it was
made from, and writes atomically. Scripts read, call one library function and write through the Job.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillmake.errors import SkillmakeError, storing
from skillmake.files import canonical, canonical_line, sha256, write_text
from skillmake.made import note_made
from skillmake.memo import Memo, default_cache_dir, payload_digest
from skillmake.pulse import Pulse
from skillmake.workspace import PARENT

if TYPE_CHECKING:  # heavy; a step that is known needs none of them
    from skillmake.artifacts import Model
    from skillmake.config.models import Config

Paths = dict[str, Path | list[Path]]
SCRIPTS = Path("scripts")
PR_SET_PDEATHSIG = 1


class Job:
    """What a rule may see: its inputs, its parameters, its wildcards; and a place for its outputs.

    `all_slots`: calls that the whole run may have in flight; None is no limit. `is_reusable`: whether the
    results follow from the inputs alone, so that they may go into the memo.
    """

    def __init__(
        self, rule: str, config: "Config", io: Mapping[str, Any], pulse: Pulse | None = None
    ) -> None:
        self.rule, self.config, self._pulse = rule, config, pulse
        self.wildcards: dict[str, str] = io["wildcards"]
        self.run_dir = Path(io["run"])
        self.all_slots: int | None = io.get("slots")
        self._inputs = _paths(io["inputs"])
        self.results: dict[str, Any] = {}
        self.is_reusable = True

    @property
    def name(self) -> str:
        """Rule and wildcards, for logs: `gate.01.003.billing`."""
        return job_name(self.rule, self.wildcards)

    @property
    def cache_dir(self) -> Path:
        return default_cache_dir()

    @property
    def log_dir(self) -> Path:
        return self.run_dir / "log"

    def path(self, name: str) -> Path:
        """The one file of input `name`."""
        path = self._inputs[name]
        assert isinstance(path, Path), f"{name} is a list"
        return path

    def paths(self, name: str) -> list[Path]:
        """The files of input `name`."""
        path = self._inputs.get(name, [])
        return [path] if isinstance(path, Path) else path

    def read(self, name: str, model: "type[Model]") -> "Model":
        from skillmake.artifacts import read_model

        return read_model(self.path(name), model)

    def read_all(self, name: str, model: "type[Model]") -> "list[Model]":
        from skillmake.artifacts import read_model

        return [read_model(path, model) for path in self.paths(name)]

    def write(self, name: str, value: Any) -> None:
        """A JSON artefact; it is stamped and written when the script has ended well."""
        self.results[name] = canonical(value)

    def write_text(self, name: str, text: str) -> None:
        self.results[name] = text

    def write_files(self, name: str, files: Mapping[str, str]) -> None:
        """A directory of files, by relative path."""
        self.results[name] = dict(files)

    def say(self, text: str) -> None:
        """A line of progress on the terminal."""
        print(text, flush=True)

    def tell(self, progress: Mapping[str, Any]) -> None:
        """How far the job is, for `skillmake watch`."""
        if self._pulse is not None:
            self._pulse.tell(progress)

    def note(self, text: str) -> None:
        """Lines for the job's own log, which is outside of everything that is hashed."""
        print(text, file=sys.stderr, flush=True)


def job_name(rule: str, wildcards: Mapping[str, str]) -> str:
    return ".".join([rule, *wildcards.values()])


def memo_key(rule: str, code: str, config: str, io: Mapping[str, Any]) -> str:
    """Everything that may change the outputs: rule, code, parameters, wildcards, names, input contents."""
    inputs = {
        name: [payload_digest(path) for path in ([value] if isinstance(value, Path) else value)]
        for name, value in _paths(io["inputs"]).items()
    }
    outputs = sorted(io["outputs"])
    return sha256(canonical_line([rule, code, config, io["wildcards"], outputs, inputs]))


def main(rule: str, code: str, config: str, io_text: str) -> None:
    """Run one rule; a SkillmakeError is one message and exit code 1."""
    die_with_parent()
    io = read_io(io_text)
    wildcards = io["wildcards"]
    try:
        with Pulse(Path(io["run"]) / "log", job_name(rule, wildcards), rule, wildcards) as pulse:
            put_results(results_of(rule, code, config, io, pulse), rule, code, io)
    except SkillmakeError as error:
        _tell(f"{rule}: {error}")
        raise SystemExit(1) from None


def read_io(text: str) -> dict[str, Any]:
    """Inputs, outputs and settings of a job: JSON, or `@` and the file that holds it."""
    found: dict[str, Any] = json.loads(Path(text[1:]).read_text() if text.startswith("@") else text)
    return found


def results_of(
    rule: str, code: str, config: str, io: Mapping[str, Any], pulse: Pulse | None = None
) -> dict[str, Any]:
    """What the rule's script makes, by output name: from the memo, else by running it."""
    memo = Memo(default_cache_dir())
    key = memo_key(rule, code, config, io)
    results = memo.get(key)
    if results is None:
        job = run_script(rule, config, io, pulse)
        results = job.results
        if job.is_reusable:
            memo.put(key, results)
    return results


def put_results(results: Mapping[str, Any], rule: str, code: str, io: Mapping[str, Any]) -> None:
    """Write every output, each JSON one with the stamp of what it was made from and by."""
    stamp = {"derived_from": _sources(io), "made_by": {"rule": rule, "code": code}}
    for name, path in _paths(io["outputs"]).items():
        assert isinstance(path, Path)
        _put(path, results[name], stamp)


def die_with_parent() -> None:
    """A rule must not outlive a Snakemake that was killed (DESIGN §4.4): it ends, or it only takes the
    answers of calls in flight (see `Client`)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # It may have died before that, while this process was starting
    if os.getppid() != int(os.environ.get(PARENT, os.getppid())):
        raise SystemExit("the Snakemake that started this job has ended")


def _tell(message: str) -> None:
    """Into the job's log, or on the terminal if the disk is full."""
    try:
        print(message, file=sys.stderr, flush=True)
    except OSError:
        print(message, flush=True)


def run_script(rule: str, config: str, io: Mapping[str, Any], pulse: Pulse | None = None) -> Job:
    """The job of a rule after its script, with results that are not written yet."""
    path = SCRIPTS / f"{rule}.py"
    spec = spec_from_file_location(f"skillmake_rule_{rule}", path)
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    from skillmake.config.load import granted

    job = Job(rule, granted(json.loads(config), io["settings"]), io, pulse)
    script.main(job)
    missing = sorted(set(io["outputs"]) - set(job.results))
    assert not missing, f"{path} did not write {missing}"
    return job


def _put(path: Path, result: Any, stamp: Mapping[str, Any]) -> None:
    """Write an output; what it will be is noted first, so that any other content is known for damaged."""
    if isinstance(result, dict):
        note_made(path, result)
        with storing(path):
            path.mkdir(parents=True, exist_ok=True)
        for name in sorted(result):
            write_text(path / name, result[name])
        return
    # One beside runs/ is for DVC, which takes every value in it for a metric
    if path.suffix == ".json" and len(path.parts) > 1:
        value = json.loads(result)
        result = canonical({**value, **stamp} if isinstance(value, dict) else value)
    note_made(path, result)
    write_text(path, result)


def _sources(io: Mapping[str, Any]) -> dict[str, str]:
    return {path.as_posix(): sha256(path.read_bytes()) for path in _flat(_paths(io["inputs"]).values())}


def _flat(values: Iterable[Path | list[Path]]) -> list[Path]:
    return [path for value in values for path in ([value] if isinstance(value, Path) else value)]


def _paths(value: Mapping[str, Any]) -> Paths:
    return {k: Path(v) if isinstance(v, str) else [Path(p) for p in v] for k, v in value.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
