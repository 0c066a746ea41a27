"""What Snakemake says on the terminal, made short: a failed job is told by the end of its own log."""

import logging
import re
from pathlib import Path

NOISE = (
    "Select jobs to execute",
    "Execute ",
    "DAG of jobs will be updated",
    "Updating checkpoint dependencies",
)
FAILED = re.compile(
    r"^RuleException:.* 2> (\S+)' (returned non-zero exit status \d+|died with .+)\.", re.DOTALL
)
# An error that the Snakefile raises says itself what is wrong; where it was raised helps no user
RAISED = re.compile(r'^WorkflowError in file "[^"]+", line \d+:\n(.+?)(\n  File "[^\n]+)*$', re.DOTALL)
MOST_LINES = 20


class Brief(logging.Filter):
    """Drops lines about each step of the scheduler, and tells a failed job without its command and a refused
    start without its place in the code.

    What several jobs failed from is told once. `--verbose` shows everything.
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
            return True
        text = str(record.msg)
        if text.startswith(NOISE):
            return False
        if found := FAILED.search(text):
            record.msg, record.args = self._brief(Path(found[1]), found[2]), None
        elif found := RAISED.search(text):
            record.msg, record.args = found[1], None
        return True

    def _brief(self, log: Path, how: str) -> str:
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-MOST_LINES:]
        except OSError:
            lines = []
        if not lines:
            return f"{log}: the job {how}"
        why = "\n".join(f"  {line}" for line in lines)
        is_new = why not in self._told
        self._told.add(why)
        return f"{log}:\n{why}" if is_new else f"{log}: the same"
