"""dvc.yaml names every section of the parameters: a change of one that it does not name would go unseen."""

from pathlib import Path

import yaml

from skillmake.config.models import Config


def test_dvc_follows_every_section_of_the_parameters() -> None:
    train = yaml.safe_load((Path(__file__).parents[2] / "dvc.yaml").read_text())["stages"]["train"]
    # No training sees the parameters of infer, eval, diagnose and promote
    assert sorted([*train["params"], "modes"]) == sorted(Config.model_fields)
