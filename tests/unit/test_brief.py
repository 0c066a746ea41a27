"""What is left of Snakemake's messages."""

import logging
from pathlib import Path

import pytest

from skillmake.brief import Brief

COMMAND = """RuleException:
CalledProcessError in file "/somewhere/rules/step.smk", line 112:
Command 'set -euo pipefail;  exec python -m skillmake.job gate 26 '{"a":1}' 2> %s' %s."""


def told(brief: Brief, text: str) -> str | None:
    record = logging.LogRecord("brief-test", logging.ERROR, "", 0, text, None, None)
    return record.getMessage() if brief.filter(record) else None


def test_a_failed_job_is_told_by_its_log_and_the_same_reason_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        Path(f"{name}.log").write_text("gate: 63 of 63 are spent\n  → raise it\n")
    Path("c.log").touch()
    brief = Brief()
    exit_1, killed = "returned non-zero exit status 1", "died with <Signals.SIGKILL: 9>"
    assert told(brief, COMMAND % ("a.log", exit_1)) == "a.log:\n  gate: 63 of 63 are spent\n    → raise it"
    assert told(brief, COMMAND % ("b.log", exit_1)) == "b.log: the same"
    assert told(brief, COMMAND % ("c.log", killed)) == f"c.log: the job {killed}"
    assert told(brief, COMMAND % ("none.log", exit_1)) == f"none.log: the job {exit_1}"


def test_a_refused_start_says_why_and_not_where_in_the_code() -> None:
    why = 'params.yaml: gate.n_max: too small\n  → "File" it'
    place = 'WorkflowError in file "/somewhere/rules/start.smk", line 65:\n'
    frames = "".join(f'\n  File "/somewhere/rules/start.smk", line {n}, in __onstart' for n in (47, 65))
    assert told(Brief(), place + why + frames) == why
    assert told(Brief(), place + why) == why


def test_noise_is_dropped_and_everything_else_is_left_as_it_is() -> None:
    assert told(Brief(), "Select jobs to execute...") is None
    assert told(Brief(), "Execute 12 jobs...") is None
    for text in ("Nothing to be done", "RuleException:\nOSError in file x, line 1:\nno space", "100% sure"):
        assert told(Brief(), text) == text


def test_verbose_shows_everything() -> None:
    logging.getLogger("brief-test").setLevel(logging.DEBUG)
    try:
        assert told(Brief(), "Select jobs to execute...") == "Select jobs to execute..."
    finally:
        logging.getLogger("brief-test").setLevel(logging.NOTSET)
