"""Parameters: one checked model, friendly errors, and what each rule may see of them (DESIGN §4)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillmake.config.document import params_yaml, schema_json
from skillmake.config.load import (
    describe,
    load_config,
    overlay,
    parse_config,
)
from skillmake.config.models import Config
from skillmake.errors import ConfigError

ROOT = Path(__file__).parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def problem(value: dict[str, Any]) -> str:
    """The message for parameters that are wrong."""
    with pytest.raises(ConfigError) as caught:
        parse_config(value)
    assert caught.value.hint == "`skillmake params` lists every parameter"
    return caught.value.message


@pytest.mark.parametrize(
    "wrong", [{"api_key_env": "sk-canary-1"}, {"base_url": "https://user:sk-canary-1@example.org/v1"}]
)
def test_a_key_in_the_wrong_place_is_refused_and_not_told(wrong: dict[str, str]) -> None:
    told = problem({"models": {"student": wrong}})
    assert f"models.student.{next(iter(wrong))}: " in told
    assert "canary" not in told


# --- generated files ------------------------------------------------------------------
def test_params_yaml_is_the_generated_one() -> None:
    assert (ROOT / "params.yaml").read_text(encoding="utf-8") == params_yaml()


def test_the_schema_is_the_generated_one() -> None:
    assert (ROOT / "configs" / "schema.json").read_text(encoding="utf-8") == schema_json()


def test_the_default_parameters_are_those_of_params_yaml() -> None:
    assert load_config(ROOT / "params.yaml") == Config()


def test_params_yaml_holds_every_parameter_in_order_with_its_meaning() -> None:
    text = params_yaml()
    lines = [line.strip() for line in text.splitlines()]
    places = [lines.index(f"{path.split('.')[0]}:") for path, *_ in describe() if "." in path]
    assert places == sorted(places)
    for path, default, _, about in describe():
        leaf, words = path.split(".")[-1], about.split()
        assert words, f"{path} has no description"
        assert f"# {words[0]}" in text
        assert any(line.startswith(f"{leaf}: ") for line in lines), (path, default)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("agent.max_steps", "whole number ≥ 1, ≤ 100"),
        ("agent.nearest_examples", "whole number ≥ 1, or null"),
        ("agent.skill_mode", "inline or tool or off"),
        ("data.pools.test", "number > 0, < 1"),
        ("gate.shadow", "true or false"),
        ("models.student.base_url", "text, or null"),
        ("models.vision", "section of a model, or null"),
        ("rehearsal.seed", "whole number ≥ 0, < 2147483648"),
        ("task_types", "list of texts, or null"),
    ],
)
def test_what_is_allowed_is_said_in_words(path: str, says: str) -> None:
    assert {p.path: p.allowed for p in describe()}[path] == says


def test_the_schema_knows_bounds_and_refuses_unknown_keys() -> None:
    schema = json.loads(schema_json())
    gate = schema["$defs"]["Gate"]
    assert gate["properties"]["n_max"]["minimum"] == 1
    assert gate["additionalProperties"] is False


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_file_is_valid_on_top_of_the_defaults(path: Path) -> None:
    config = load_config(ROOT / "params.yaml", path)
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert config.run == given["run"]
    assert config != Config()


def test_there_are_config_files() -> None:
    assert CONFIGS


# --- errors ---------------------------------------------------------------------------
def test_an_unknown_key_is_named_with_the_closest_one_and_all_that_are_allowed() -> None:
    message = problem({"slow": {"gama": 0.5}})
    assert message.startswith("params.yaml: slow.gama: unknown parameter; did you mean `slow.gamma`?")
    allowed = message.split("Allowed here: ")[1].split(", ")
    assert allowed == sorted(type(Config().slow).model_fields)


@pytest.mark.parametrize(
    ("value", "path", "closest"),
    [
        ({"gates": {}}, "gates", "gate"),
        (
            {"models": {"student": {"temprature": 0}}},
            "models.student.temprature",
            "models.student.temperature",
        ),
        ({"data": {"pools": {"tests": 0.3}}}, "data.pools.tests", "data.pools.test"),
        ({"limits": {"slot": 2}}, "limits.slot", "limits.slots"),
        ({"rehearsal": {"typs": 2}}, "rehearsal.typs", "rehearsal.types"),
    ],
)
def test_the_closest_key_is_found_in_every_section(value: dict[str, Any], path: str, closest: str) -> None:
    assert f"{path}: unknown parameter; did you mean `{closest}`?" in problem(value)


def test_a_key_like_no_other_is_just_unknown() -> None:
    assert "slow.zzz: unknown parameter; no such key. Allowed here: " in problem({"slow": {"zzz": 1}})


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"gate": {"n_max": 0}}, "gate.n_max: Input should be greater than or equal to 1, got 0"),
        ({"gate": {"e_confirm": 1}}, "gate.e_confirm: Input should be greater than 1, got 1"),
        ({"train": {"epochs": 100}}, "train.epochs: Input should be less than or equal to 99, got 100"),
        ({"train": {"epochs": "two"}}, 'train.epochs: Input should be a valid integer, .*, got "two"'),
        ({"train": {"epochs": None}}, "train.epochs: Input should be a valid integer, got null"),
        (
            {"evolve": {"schedule": "step"}},
            "evolve.schedule: Input should be 'linear', 'cosine' or 'constant', got \"step\"",
        ),
        ({"run": "a/b"}, 'run: String should match pattern .*, got "a/b"'),
        ({"task_types": "alpha"}, 'task_types: Input should be a valid tuple, got "alpha"'),
        ({"task_types": ["a", 3]}, "task_types.1: Input should be a valid string, got 3"),
        ({"gate": 3}, "gate: Input should be a valid dictionary or instance of Gate, got 3"),
        ({"gate": None}, "gate: Input should be a valid dictionary or instance of Gate, got null"),
    ],
)
def test_a_wrong_value_is_named_with_path_value_and_what_is_allowed(value: dict[str, Any], says: str) -> None:
    assert re.fullmatch(f"params.yaml: {says}", problem(value))


def test_all_problems_are_listed_at_once() -> None:
    message = problem({"gate": {"n_max": 0, "rungs": 3}, "run": ""})
    assert [line.split(": ")[1] for line in message.splitlines()] == ["run", "gate.n_max", "gate.rungs"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"data": {"pools": {"test": 0.5}}}, "data.pools: the three shares must sum to 1"),
        ({"gate": {"p_low": 0.8, "p_high": 0.2}}, "gate: p_low must not be larger than p_high"),
        ({"gate": {"e_provisional": 30}}, "gate: e_provisional must not be larger than e_confirm"),
        (
            {"models": {"student": {"temperature": 0.5}}},
            "models.student: the embedded model runs at temperature 0 only",
        ),
        ({"gate": {"replicates": 2}}, "gate.replicates > 1 needs models.student.temperature > 0"),
        ({"gate": {"fresh_baseline": True}}, "gate.fresh_baseline needs models.student.temperature > 0"),
        ({"evolve": {"teacher": "llm"}}, "evolve.teacher: llm needs a capable models.teacher"),
        ({"diagnose": {"method": "judges"}}, "diagnose.method: judges needs a capable models.judge"),
    ],
)
def test_parameters_must_agree_with_each_other(value: dict[str, Any], says: str) -> None:
    assert problem(value).startswith(f"params.yaml: {says}")


def test_replicates_are_fine_at_a_temperature() -> None:
    student = {"provider": "openai", "model": "m", "temperature": 0.7}
    config = parse_config({"models": {"student": student}, "gate": {"replicates": 2}})
    assert config.gate.replicates == 2


# --- files ----------------------------------------------------------------------------
def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_later_file_overrides_single_keys(tmp_path: Path) -> None:
    first = write(tmp_path / "a.yaml", "gate: {n_max: 20, rung: 5}\nseed: 3\n")
    second = write(tmp_path / "b.yaml", "gate: {n_max: 30}\n")
    config = load_config(first, second)
    assert (config.gate.n_max, config.gate.rung, config.seed, config.gate.e_confirm) == (30, 5, 3, 20.0)


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    assert load_config(write(tmp_path / "a.yaml", "# nothing\n")) == Config()


def test_overlay_changes_neither_of_its_two() -> None:
    base: dict[str, Any] = {"a": {"x": 1, "y": {"z": 2}}, "b": [1]}
    top: dict[str, Any] = {"a": {"y": {"z": 3}}, "b": [2], "c": 4}
    assert overlay(base, top) == {"a": {"x": 1, "y": {"z": 3}}, "b": [2], "c": 4}
    assert base == {"a": {"x": 1, "y": {"z": 2}}, "b": [1]}
    assert top == {"a": {"y": {"z": 3}}, "b": [2], "c": 4}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"gate: [", "not valid YAML"),
        (b"\xff\xfe", "not valid YAML"),
        (b"- gate\n", "expected `section: {key: value}`, got list"),
        (b"gate: {n_max: 0}", "gate.n_max: Input should be"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert caught.value.message.startswith(f"{path}: {says}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: no such file"):
        load_config(tmp_path / "nowhere.yaml")
