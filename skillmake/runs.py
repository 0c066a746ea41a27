"""Runs on disk: which one is meant, its artefacts, and what kind of artefact an object is (DESIGN §2)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from skillmake.artifacts import STAMP_KEYS
from skillmake.config.load import load_config
from skillmake.errors import DataError
from skillmake.workspace import MODES

RUNS = "runs"
ARCHIVE = "archive"  # folder of the archived runs, in RUNS
METRICS = "metrics.json"
DELIVERED = {"skills": "skills", "prompts": "prompts-delivered"}  # folders of the best version, by kind
NOT_ARTEFACTS = ("log", "versions", "delivered", MODES)


def find_run(name: str | None, params: Path = Path("params.yaml")) -> Path:
    """Folder of the run called `name` (or at that path); without a name the run of `params`.

    Raises DataError when there is no such run, naming those there are.
    """
    if name is None:
        name = load_config(params).run
    for folder in (Path(name), Path(RUNS) / name):
        # A run is known by its first artefact's folder, so that `skills` is not taken for one
        if (folder / "data").is_dir() and _place(folder) == RUNS:
            return folder
    found = (path.parent for pattern in ("*/data", f"{ARCHIVE}/*/data") for path in Path(RUNS).glob(pattern))
    there = sorted(path.relative_to(RUNS).as_posix() for path in found)
    hint = f"runs here: {', '.join(there)}" if there else "run `snakemake --cores 8` first"
    raise DataError(f"{name}: no such run", hint)


def _place(folder: Path) -> str:
    """Name of the folder that a run, archived or not, would lie in."""
    parent = folder.resolve().parent
    return parent.parent.name if parent.name == ARCHIVE else parent.name


def home(run_dir: Path) -> tuple[Path, str]:
    """The project's root, and the run's path in it at the time that its artefacts were made."""
    folder = run_dir.resolve()
    if folder.parent.name == ARCHIVE:
        return folder.parents[2], f"{RUNS}/{folder.name.rpartition('-')[0]}"
    return folder.parents[1], f"{RUNS}/{folder.name}"


def is_delivered(run: str, root: Path = Path()) -> bool:
    """Whether what lies delivered in the project comes from the run called `run`."""
    path = root / METRICS
    return path.is_file() and f'"run": "{run}"' in path.read_text(encoding="utf-8", errors="replace")


def run_of(file: Path) -> Path | None:
    """Folder of the run that a file of a version belongs to; None for a file that lies elsewhere."""
    for folder in file.resolve().parents:
        if folder.name == "versions" and folder.parent.parent.name == RUNS:
            return folder.parent
    return None


def read_text(path: Path) -> str:
    """A text that the user has named; raises DataError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8") from None


def artefact_files(run_dir: Path) -> list[Path]:
    """Files of a run in order of name: without logs, versions and what a killed write left."""
    inside = (path for path in run_dir.rglob("*") if path.is_file())
    return sorted(path for path in inside if _is_artefact(path.relative_to(run_dir)))


def mode_files(run_dir: Path) -> list[Path]:
    """Files that infer, eval and diagnose made of a run, in order of name."""
    inside = (path for path in (run_dir / MODES).rglob("*") if path.is_file())
    return sorted(path for path in inside if not path.name.startswith("."))


def _is_artefact(path: Path) -> bool:
    return path.parts[0] not in NOT_ARTEFACTS and not path.name.startswith(".")


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object in `value`, at any depth, the outer ones first."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from objects(part)


def is_kind(value: dict[str, Any], model: type[BaseModel]) -> bool:
    """Whether an object has exactly the fields of `model`, as artefacts have: they are written whole."""
    return value.keys() - set(STAMP_KEYS) == model.model_fields.keys()
