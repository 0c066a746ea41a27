"""The examples of docs/environments.md are what the project reads."""

import re
from pathlib import Path

import pytest
import yaml

from skillmake.artifacts import write_text
from skillmake.cli_tree import build_tree, import_tree
from skillmake.config.load import parse_config
from skillmake.tree import load_tree
from tests.unit.test_pixels import RED, picture

PAGE = (Path(__file__).parents[2] / "docs/environments.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_tree_is_one(tmp_path: Path) -> None:
    (example,) = blocks("json")
    write_text(tmp_path / "bikes.json", example)
    (tmp_path / "bikes").mkdir()
    (tmp_path / "bikes/f000000000.jpg").write_bytes(picture((RED, 10), kind="JPEG"))
    assert len(load_tree(tmp_path / "bikes.json").leaves()) == 2


@pytest.mark.parametrize("example", blocks("yaml"))
def test_the_parameters_are_some(example: str) -> None:
    assert parse_config(yaml.safe_load(example)) != parse_config({})


def test_the_options_are_there() -> None:
    known = {*build_tree.__annotations__, *import_tree.__annotations__}
    named = {option.replace("-", "_") for option in re.findall(r"--([a-z][a-z-]+)", PAGE)}
    assert named <= known
    assert len(named) > 6
