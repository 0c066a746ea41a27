"""Parameters of infer, eval, diagnose and promote; a run that starts from a promoted seed."""

from typing import Any

import pytest

from skillmake.config.load import granted, parse_config, pick, with_short_keys
from skillmake.config.modes import USED_BY, Modes
from skillmake.errors import ConfigError


def test_keys_of_the_command_line_stand_for_those_of_the_section() -> None:
    given = {"run": "m", "version": "best", "first": 20, "modes": {"version": "seed", "name": "n"}}
    # Snakemake gives the texts of a list and takes a single number for one
    config = parse_config(
        with_short_keys({**given, "types": ["a", "b"]}, {"version", "first", "types", "run"})
    )
    assert config.modes == Modes(version="best", first=20, types=("a", "b"), name="n")
    assert config.run == "m"


def test_such_a_key_in_a_file_is_unknown_as_any_other() -> None:
    with pytest.raises(ConfigError, match="questions: unknown parameter"):
        parse_config(with_short_keys({"questions": "q.jsonl"}, set()))


def test_texts_of_a_nested_section_are_read_as_what_they_should_be() -> None:
    config = parse_config({"modes": {"first": "20", "types": "a", "rollouts": "r.json"}})
    assert (config.modes.first, config.modes.types, config.modes.rollouts) == (20, ("a",), ("r.json",))


@pytest.mark.parametrize(
    ("modes", "says"),
    [
        ({"version": 123}, "a digest of digits alone is read as a number"),
        ({"version": float("inf")}, "a digest of digits alone is read as a number"),
        ({"version": "newest"}, "expected best, seed, current, epoch:N, or a digest"),
        ({"first": 0}, "greater than or equal to 1"),
        ({"name": "../x"}, "String should match pattern"),
        ({"nam": "x"}, "did you mean `modes.name`?"),
    ],
)
def test_a_mistake_is_named(modes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"modes": modes})
    assert says in str(caught.value)


def test_a_mistyped_short_key_is_known_for_one() -> None:
    with pytest.raises(ConfigError, match=r"verson: unknown parameter; did you mean `modes\.version`\?"):
        parse_config({"verson": "best"})


@pytest.mark.parametrize("version", ["best", "seed", "current", "epoch:12", "0123", "ab"])
def test_versions(version: str) -> None:
    assert parse_config({"modes": {"version": version}}).modes.version == version


def test_every_parameter_is_used_by_a_target() -> None:
    assert {key for keys in USED_BY.values() for key in keys} == set(Modes.model_fields)


def test_a_seed_stands_for_questions_and_texts() -> None:
    data = parse_config({"data": {"seed": "strong", "questions": "q.jsonl"}}).data
    assert (data.questions, data.skills) == ("seeds/strong/questions.jsonl", "seeds/strong/skills")
    assert (data.prompts, data.videos) == ("seeds/strong/prompts", "data/videos")
    seen = pick({"data": data.model_dump(mode="json")}, ("data.skills", "data.own_skill_per_type"))
    assert granted(seen, {}).data.skills == "seeds/strong/skills"


def test_no_run_is_called_as_the_folder_of_archived_runs() -> None:
    with pytest.raises(ConfigError, match="run: runs/archive holds the archived runs"):
        parse_config({"run": "archive"})
