"""Names of the tables, and which artefacts they are made from; light, for the rules to import."""

import re
from pathlib import Path

# Made by the rule `tables`; `llm_calls` is gathered from the logs, because it holds wall time.
TABLES = (
    *("predictions", "traces", "step_report", "gate_evidence", "quadrant_pairs"),
    *("dual_metric", "shadow_gate", "holdout_eval", "epoch_report"),
)
CALLS = "llm_calls"

START = ("data/questions.jsonl", "data/pools.json", "data/texts.json", "data/baseline.json")
TEST, SEED_SOFT = "final_test.json", "data/soft.json"
STEP_KINDS = ("rollout", "diagnosis", "texts")
END_KINDS = (
    *("validation", "scores", "settled_texts", "momentum"),
    *("prompts_texts", "validation2", "texts", "holdout", "report"),
)
PLACE = re.compile(
    rf"({'|'.join(map(re.escape, (*START, SEED_SOFT, TEST)))}"
    rf"|e\d\d/s\d\d\d/(?:(?:{'|'.join(STEP_KINDS)})\.json|gate/[a-z0-9-]+\.json)"
    rf"|e\d\d/end/(?:{'|'.join(END_KINDS)})\.json)$"
)


def place_of(path: str | Path) -> str | None:
    """Place in the run's folder of an artefact that tables are made from; None for any other file."""
    found = PLACE.search(Path(path).as_posix())
    return found and found[1]
