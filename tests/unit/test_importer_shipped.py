"""The mappings that the project ships, on their data."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from skillmake.importer import import_questions
from skillmake.mapping import load_mapping
from skillmake.questions import dump_questions, load_questions
from skillmake.units import make_units

ROOT = Path(__file__).parents[2]
REAL = Path(os.environ.get("SKILLMAKE_REAL_DATA", ROOT / "../shared/data"))
MESSAGES = ROOT / "data/triage/messages"


@pytest.mark.parametrize("path", sorted((ROOT / "configs/import").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_mapping_loads(path: Path) -> None:
    assert load_mapping(path).id


def need(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path} is absent: set SKILLMAKE_REAL_DATA to the folder of the real data")


def test_banking77(tmp_path: Path) -> None:
    need(REAL / "banking77")
    sources = [REAL / "banking77" / name for name in ("train.csv", "test.csv")]
    found = import_questions(sources, load_mapping(ROOT / "configs/import/banking77.yaml"))
    counts = Counter((question.task_type, question.answer) for question in found)
    assert set(counts.values()) == {30}
    assert Counter(task_type for task_type, _ in counts) == {
        "card payment": 4,
        "top-up": 4,
        "transfer": 4,
        "cash": 4,
    }
    assert ("cash", "wrong amount of cash received") in counts
    assert all(len(question.options or ()) == 4 for question in found)
    assert not any("_" in question.answer for question in found)
    dump_questions(tmp_path / "q.jsonl", found)
    assert load_questions(tmp_path / "q.jsonl") == found


def test_bbh() -> None:
    need(REAL / "bbh")
    sources = sorted(path for path in (REAL / "bbh").glob("*.json") if path.name != "TWINS.json")
    found = import_questions(sources, load_mapping(ROOT / "configs/import/bbh.yaml"))
    pairs = Counter(unit.task_type for unit in make_units(found) if len(unit.questions) == 2)
    table = json.loads((REAL / "bbh/TWINS.json").read_text())
    stems = {path.stem for path in sources}
    assert pairs == Counter(entry["task_type"] for entry in table if entry["task_type"] in stems)
    entry = table[0]
    examples = json.loads((REAL / f"bbh/{entry['task_type']}.json").read_text())["examples"]
    members = [question for question in found if question.unit_id == entry["pair"]]
    starts = sorted(examples[entry[side]]["input"].split("\nOptions:")[0] for side in "ab")
    assert sorted(member.question for member in members) == starts
    by_type = {question.task_type: question for question in found}
    assert by_type["word_sorting"].options is None
    assert by_type["web_of_lies"].options == ("No", "Yes")
    assert by_type["navigate"].options == ("Yes", "No")
    assert by_type["formal_fallacies"].options == ("valid", "invalid")
    assert not any("Options:" in question.question for question in found)
    assert all("canary GUID" in str(question.meta["canary"]) for question in found)


def test_triage() -> None:
    if not MESSAGES.exists():
        pytest.skip(f"{MESSAGES} is absent")
    found = import_questions(
        sorted(MESSAGES.glob("*.csv")), load_mapping(ROOT / "configs/import/triage.yaml")
    )
    units = make_units(found)
    assert {unit.task_type for unit in units} == {"billing", "access", "bug", "intent", "routing", "area"}
    assert all((len(unit.questions) == 2) == (unit.task_type == "area") for unit in units)
    assert all(len(question.options or ()) == 4 for question in found)
