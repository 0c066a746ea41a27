"""`skillmake plan` and `skillmake aa-test` in a small known-truth world."""

import json
from pathlib import Path

import pytest
import yaml

from skillmake.config.load import load_config, overlay
from skillmake.questions import dump_questions, load_questions
from skillmake.source import run_questions
from skillmake.start import Start
from tests.commands import fails, run

ROOT = Path(__file__).parents[2]
SEED = {"skills": str(ROOT / "data" / "seed"), "prompts": str(ROOT / "data" / "seed" / "prompts")}
# Two types of 24 single units: 8 diagnosis, 9 validation and 7 test units each
WORLD = {
    "run": "small",
    "data": {"questions": "rehearsal", **SEED},
    "models": {"student": {"provider": "rehearsal"}, "teacher": {"provider": "rehearsal"}},
    "train": {"min_class_per_batch": 1},
    "rehearsal": {"types": 2, "units_per_type": 24, "pair_share": 0.0, "noise": 0.4},
}
NOISY = {"models": {"student": {"temperature": 0.7}}}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with its params.yaml and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKILLMAKE_CACHE", str(tmp_path / "cache"))
    write("params.yaml", WORLD)
    write("noisy.yaml", NOISY)
    return tmp_path


def write(name: str, value: dict[str, object]) -> None:
    Path(name).write_text(yaml.safe_dump(value))


def cells(text: str, first: str) -> list[str]:
    """The cells of the one table row that begins with `first`."""
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if "│" in line
    ]
    (found,) = [row for row in rows if row[0] == first]
    return found


# --- plan -------------------------------------------------------------------------------
def test_plan_shows_each_type_and_the_calls_and_only_reads(work: Path) -> None:
    before = sorted(work.rglob("*"))
    text = run("plan")
    types = load_config("params.yaml")
    for name in Start.of(types).benchmark.trainable:
        # A batch has 4 wrong and 3 right units, so 9 + 8 - 7 judge, and 7 wins of 10 confirm
        assert cells(text, name)[1:4] == ["9", "10", "0.700"]
    assert cells(text, "baseline")[:3] == ["baseline", "48", "exactly"]
    assert cells(text, "validations")[:3] == ["validations", "36", "at most"]  # 18 in two epochs
    assert cells(text, "final test")[:3] == ["final test", "14", "at most"]
    assert "- prompts: four characters a token" in text
    assert sorted(work.rglob("*")) == before
    assert run("plan") == text


def test_plan_warns_of_what_cannot_be_found() -> None:
    text = run("plan", "--power", "0.9", "--accuracy", "0.6")
    found = [line for line in text.splitlines() if line.startswith("warning: ")]
    assert len(found) == 2
    assert all("12 ladder units" in line for line in found)  # 3 wrong and 2 right in a batch, 9 + 8 - 5


def test_later_parameter_files_are_on_top() -> None:
    write("own.yaml", {"gate": {"use_diagnosis": False}, "limits": {"max_calls": 20}, "train": {"epochs": 1}})
    text = run("plan", "params.yaml", "own.yaml")
    name = Start.of(load_config("params.yaml")).benchmark.trainable[0]
    assert cells(text, name)[1:3] == ["9", "9"]
    assert "Calls of the whole run, 1 epochs" in text
    assert "warning: limits.max_calls: the run may need " in text


def test_plan_names_the_types_that_are_not_trained() -> None:
    first, second = Start.of(load_config("params.yaml")).benchmark.trainable
    write("own.yaml", {"task_types": [second]})
    text = run("plan", "params.yaml", "own.yaml")
    assert f"not trained: {first}: not in task_types (8 diagnosis, 9 validation units)\n" in text


def test_plan_refuses_a_run_that_can_accept_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("own.yaml", {"gate": {"min_discordant": 11}})
    message = fails(monkeypatch, capsys, "plan", "params.yaml", "own.yaml")
    assert message.startswith("skillmake: no candidate could ever be accepted:\n")
    assert message.count("needs 11 wins, its ladder has 10 units") == 2
    assert "  → add questions, raise data.pools.validation" in message


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.yaml"], "nowhere.yaml: no such file"),
        (["cache.d"], "cache.d: cannot be read"),
        (["--accuracy", "50"], "--accuracy: 50 is not in 0 … 0.99"),
        (["params.yaml", "lost.yaml"], "lost.jsonl: no such file"),
        (["params.yaml", "bare.yaml"], "no <slug>/SKILL.md in it"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "aa-test"])
def test_what_cannot_be_read_is_one_message(
    command: str,
    arguments: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("cache.d").mkdir()
    write("lost.yaml", {"data": {"questions": "lost.jsonl"}})
    write("bare.yaml", {"data": {"skills": "cache.d"}})
    if command == "aa-test" and "--accuracy" in arguments:
        arguments, says = ["--draws", "1"], "--draws: 1 is fewer than 2"
    assert says in fails(monkeypatch, capsys, command, *arguments)


# --- aa-test ----------------------------------------------------------------------------
def test_aa_test_pays_each_draw_once_and_repeats_its_numbers(work: Path) -> None:
    command = (
        "aa-test",
        "params.yaml",
        "noisy.yaml",
        "--draws",
        "3",
        "--repeats",
        "20",
        "--out",
        "out/aa.json",
    )
    text = run(*command)
    numbers = json.loads(Path("out/aa.json").read_text())
    assert (numbers["draws"], numbers["repeats"], numbers["runs"], numbers["bound"]) == (3, 20, 40, 0.05)
    assert [row["units"] for row in numbers["types"]] == [9, 9]
    assert numbers["overall"]["churn"] > 0
    assert cells(text, "all")[1] == "18"
    assert paid(work) == 3 * 18
    assert (run(*command), json.loads(Path("out/aa.json").read_text())) == (text, numbers)
    assert paid(work) == 3 * 18


def test_aa_test_asks_again_at_temperature_0_and_finds_no_noise(work: Path) -> None:
    text = run("aa-test", "--repeats", "5")
    assert "no outcome changed between draws" in text
    assert cells(text, "all")[3:6] == ["0.000", "0.000", "0.000"]
    assert paid(work) == 2 * 18


def test_the_calls_are_logged_with_those_of_the_run(work: Path) -> None:
    run("aa-test", "--repeats", "1")
    log = work / "runs" / "small" / "log"
    assert json.loads((log / "spent.json").read_text())["calls"] == 2 * 18
    assert len((log / "calls" / "aa-test.jsonl").read_text().splitlines()) == 2 * 18


def test_what_cannot_be_written_is_named(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "file").write_text("")
    message = fails(monkeypatch, capsys, "aa-test", "--repeats", "1", "--out", "file/aa.json")
    assert message.startswith("skillmake: file/aa.json: cannot be written: ")


def paid(work: Path) -> int:
    """Calls that are in the cache: each was paid once."""
    return len(list((work / "cache" / "calls").rglob("*.json")))


# --- start ------------------------------------------------------------------------------
def test_a_start_reads_a_file_as_the_world_that_it_was_made_from() -> None:
    config = load_config("params.yaml")
    dump_questions("q.jsonl", run_questions(config, None))
    write("own.yaml", {"data": {"questions": "q.jsonl"}})
    world, file = Start.of(config), Start.of(load_config("params.yaml", "own.yaml"))
    assert (
        world.benchmark.questions
        == file.benchmark.questions
        == {q.question_id: q for q in load_questions("q.jsonl")}
    )
    assert (world.split, world.texts) == (file.split, file.texts)


@pytest.mark.parametrize("own", [True, False])
def test_a_start_gives_each_type_its_skill_where_that_is_wanted(own: bool) -> None:
    write("own.yaml", overlay(WORLD, {"data": {"own_skill_per_type": own}}))
    found = Start.of(load_config("own.yaml"))
    assert len(found.texts.skills.files) == (3 if own else 1)
