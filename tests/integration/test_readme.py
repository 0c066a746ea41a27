"""The README stays true: each command in it is run here or by the test named beside it."""

import re
import shlex
from collections.abc import Callable

import pytest

from tests.integration.conftest import ROOT, Project

ELSEWHERE = {
    "make train": "test_model: the default configuration on few questions",
    "make test": ".ci/run",
    "snakemake --cores 8": "test_dag",
    "snakemake --cores 8 --configfile configs/rehearsal.yaml": "test_model: every shipped configuration",
    "snakemake --cores 8 --configfile configs/banking77.yaml": "test_model: every shipped configuration",
    "skillmake import configs/import/banking77.yaml TRAIN.csv TEST.csv --out build/banking77.jsonl": (
        "test_importer_shipped"
    ),
    "skillmake import-tree CAPTIONS.json --questions ROWS.csv --twins TWINS.json --out build/nextqa_tree": (
        "test_import_tree"
    ),
    "snakemake --cores 8 --configfile configs/nextqa_tree.yaml": "test_tree_dag",
    "skillmake build-tree FILM.mp4 --out build/videos --window-s 4 --fps 1": "test_build_tree",
    "skillmake result": "test_cli",
    "skillmake verify runs/main": "test_lineage_of_a_run",
    "skillmake lineage best": "test_lineage_of_a_run",
    "skillmake blame skills/intent/SKILL.md": "test_lineage_of_a_run",
    "skillmake diff seed best": "test_lineage_of_a_run",
    "skillmake tables main": "test_lineage_of_a_run",
    "snakemake --cores 8 infer --config questions=new.jsonl first=20": "test_modes",
    "snakemake --cores 8 eval --config version=best": "test_modes",
    "snakemake --cores 8 promote --config version=best name=strong": "test_modes",
    "snakemake --cores 8 --config run=second data='{seed: strong}'": "test_modes",
    "skillmake doctor": "test_lineage_of_a_run",
    "skillmake watch": "test_lineage_of_a_run",
    "dvc repro": "test_dvc",
    "dvc exp run -S gate.n_max=20": "test_dvc",
    "dvc exp show": "test_dvc",
    "dvc metrics diff": "test_dvc",
    "dvc diff HEAD~1 HEAD": "test_dvc",
}
HERE = {f"skillmake {name}" for name in ("params", "import", "check", "plan", "aa-test")}


def commands(document: str = "README.md") -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def test_every_command_of_the_readme_is_run_by_some_test() -> None:
    found = commands()
    assert len(found) > 10
    unknown = [c for c in found if c not in ELSEWHERE and " ".join(c.split()[:2]) not in HERE]
    assert unknown == []
    assert set(ELSEWHERE) <= set(found)


@pytest.mark.dag
def test_the_commands_of_the_command_line_work_as_written(project: Callable[[str], Project]) -> None:
    work = project("work")
    (work.root / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    for command in commands():
        if command not in ELSEWHERE:
            work.run("bash", "-c", command)
    made = (work.root / "build" / "questions.jsonl").read_bytes()
    assert made == (ROOT / "data" / "triage" / "questions.jsonl").read_bytes()
    assert shlex.split(commands()[0]) == ["make", "train"]
