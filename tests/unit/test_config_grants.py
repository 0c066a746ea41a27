"""What a rule may see of the parameters, and which of them can change a result (DESIGN §4)."""

from operator import attrgetter

import pytest

from skillmake.config.load import granted, hashed_part, parse_config, pick, unhashed_part
from skillmake.config.models import Config

UNHASHED_MODEL = {"base_url", "api_key_env", "price_in", "price_out"}


def test_the_hashed_part_leaves_out_what_changes_no_result() -> None:
    hashed = hashed_part(Config())
    assert set(hashed["models"]["student"]) == {"provider", "model", "temperature", "max_tokens"}
    assert "limits" not in hashed
    assert set(hashed) == set(Config.model_fields) - {"limits"}


def test_address_and_prices_and_limits_do_not_change_the_hashed_part() -> None:
    student = {
        "provider": "openai",
        "base_url": "http://a",
        "api_key_env": "K",
        "price_in": 1,
        "price_out": 2,
    }
    other = {"provider": "openai"}
    one = parse_config({"models": {"student": student}, "limits": {"slots": 9, "max_calls": 5}})
    two = parse_config({"models": {"student": other}})
    assert one != two
    assert hashed_part(one) == hashed_part(two)


@pytest.mark.parametrize(("key", "value"), [("model", "m"), ("max_tokens", 65), ("temperature", 0.5)])
def test_what_changes_an_answer_changes_the_hashed_part(key: str, value: object) -> None:
    one = parse_config({"models": {"student": {"provider": "openai"}}})
    two = parse_config({"models": {"student": {"provider": "openai", key: value}}})
    assert hashed_part(one) != hashed_part(two)


def test_the_unhashed_part_is_the_rest() -> None:
    rest = unhashed_part(parse_config({"limits": {"slots": 9}, "models": {"judge": {"price_in": 2}}}))
    assert set(rest) == {"models", "limits"}
    assert rest["limits"]["slots"] == 9
    assert {role: set(keys) for role, keys in rest["models"].items()} == dict.fromkeys(
        ("student", "teacher", "judge"), UNHASHED_MODEL
    )
    assert rest["models"]["judge"]["price_in"] == 2


def test_hashed_and_unhashed_part_make_the_whole() -> None:
    config = parse_config({"task_types": ["a"], "limits": {"slots": 9}, "models": {"judge": {"price_in": 2}}})
    assert granted(hashed_part(config), unhashed_part(config)) == config


def test_pick_takes_sections_and_single_keys() -> None:
    value = {"seed": 1, "gate": {"n_max": 4, "rung": 2}, "models": {"student": {"model": "m"}}}
    assert pick(value, ("seed", "gate.rung", "models.student")) == {
        "seed": 1,
        "gate": {"rung": 2},
        "models": {"student": {"model": "m"}},
    }
    assert pick(value, ("gate.rung", "gate.n_max")) == {"gate": {"rung": 2, "n_max": 4}}
    assert pick(value, ()) == {}


def test_pick_skips_what_was_left_out_of_the_hashed_part() -> None:
    assert pick(hashed_part(Config()), ("limits", "seed")) == {"seed": 1}


def test_picking_a_key_of_a_section_does_not_widen_the_section() -> None:
    value = {"gate": {"n_max": 4, "rung": 2}}
    pick(value, ("gate", "gate.rung"))
    assert value == {"gate": {"n_max": 4, "rung": 2}}


# --- granted --------------------------------------------------------------------------
def grant(*keys: str) -> Config:
    config = parse_config({"gate": {"n_max": 7}, "limits": {"slots": 9}})
    return granted(pick(hashed_part(config), keys), unhashed_part(config))


def test_a_rule_reads_the_keys_it_was_given() -> None:
    config = grant("seed", "gate.n_max", "data.pools", "models.student")
    assert (config.seed, config.gate.n_max, config.data.pools.test) == (1, 7, 0.3)
    assert config.models.student.model == Config().models.student.model


@pytest.mark.parametrize(
    "path",
    ["run", "task_types", "evolve", "gate.rung", "data.questions", "models.teacher", "train.epochs"],
)
def test_reading_another_key_is_an_attribute_error(path: str) -> None:
    config = grant("seed", "gate.n_max", "data.pools", "models.student")
    with pytest.raises(AttributeError):
        attrgetter(path)(config)


def test_limits_and_addresses_come_along_unasked() -> None:
    config = grant("models.student")
    assert config.limits.slots == 9
    assert config.models.student.api_key_env == "OPENAI_API_KEY"
    assert grant("seed").limits.slots == 9


def test_a_role_that_was_not_granted_has_no_address_either() -> None:
    with pytest.raises(AttributeError):
        _ = grant("models.student").models.teacher
    with pytest.raises(AttributeError):
        _ = grant("seed").models


def test_a_single_key_of_a_role_hides_the_others() -> None:
    config = grant("models.student.model")
    assert config.models.student.model == Config().models.student.model
    with pytest.raises(AttributeError):
        _ = config.models.student.temperature
