"""What a run was started with, and must not change under it (SPEC §8, structural parameters).

Structural is what the first rollouts of a run follow from: the benchmark, its pools, the seed texts, the
student, the batches. All else are decisions, and re-run what they touch.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from skillmake.artifacts import Artifact, canonical, read_json, read_model, sha256, write_text
from skillmake.config.load import hashed_part, pick
from skillmake.config.models import Config
from skillmake.errors import ConfigError
from skillmake.workspace import STRUCTURE

STRUCTURAL = (
    "seed",
    "task_types",
    "data.questions",
    "data.skills",
    "data.prompts",
    "data.seed",
    "data.own_skill_per_type",
    "data.pools",
    "models.student",
    "agent",
    "train.batch_size",
    "train.min_class_per_batch",
    "train.batch_correct_ratio",
    "train.eval_min_per_class",
    "train.trainable_min_units",
)
# What a run with an agent that looks things up, and one in the known-truth world, stands on besides
OF_ENVIRONMENT = ("data.videos", "models.vision")
OF_WORLD = tuple(
    f"rehearsal.{name}"
    for name in (
        *("seed", "types", "units_per_type", "pair_share", "rules_per_type", "rules_per_unit_max"),
        *("options", "base_accuracy", "skill_gain", "harm_rate", "churn", "noise"),
        *("system_rules", "system_share"),
    )
)
FIRST_RESULTS = ("data/baseline.json", "init/state.json", "e01")  # there is something to lose from then on


class Structure(Artifact):
    """Structural parameters by dotted path; the files they name are in the artefact's stamp."""

    parameters: dict[str, Any]


def structural_keys(config: Config) -> tuple[str, ...]:
    roles = (config.models.student, config.models.teacher, config.models.judge)
    world = any(model.provider == "rehearsal" for model in roles)
    looks_up = config.agent.environment != "qa"
    return STRUCTURAL + (OF_ENVIRONMENT if looks_up else ()) + (OF_WORLD if world else ())


def structure_of(config: Config) -> Structure:
    """The structural part of a configuration."""
    return Structure(parameters=dict(_leaves(pick(hashed_part(config), structural_keys(config)))))


def record(run_dir: Path, structure: Structure, files: Iterable[Path]) -> None:
    """Note what the run starts with, as long as nothing has come of it."""
    path = run_dir / STRUCTURE
    if path.exists() and _started(run_dir):
        return
    stamp = {"derived_from": _digests(files), "made_by": {"rule": "start", "code": ""}}
    write_text(path, canonical({**structure.model_dump(mode="json"), **stamp}))


def check_unchanged(run_dir: Path, structure: Structure, files: Iterable[Path]) -> None:
    """Raise ConfigError with every difference to what the run was started with: path, old, new."""
    path = run_dir / STRUCTURE
    if not path.exists() or not _started(run_dir):
        return
    old, new = read_model(path, Structure).parameters, structure.model_dump(mode="json")["parameters"]
    found = [f"  {name}: {before} → {after}" for name, before, after in _differences(old, new)]
    if not any(line.startswith("  data.") for line in found):
        content = _differences(read_json(path)["derived_from"], _digests(files))
        found += [f"  content of {name}: {_short(a)} → {_short(b)}" for name, a, b in content]
    if found:
        raise ConfigError(
            f"{run_dir} was started with other structural parameters:\n" + "\n".join(found),
            "name another run (`--config run=NAME`), or start this one afresh after "
            f"`skillmake archive {run_dir.name}`",
        )


def seed_skills(run_dir: Path) -> Path | None:
    """Folder of the skills that the run was started from; None where that is not noted."""
    path = run_dir / STRUCTURE
    return Path(read_model(path, Structure).parameters["data.skills"]) if path.exists() else None


def _started(run_dir: Path) -> bool:
    return any((run_dir / name).exists() for name in FIRST_RESULTS)


def _digests(files: Iterable[Path]) -> dict[str, str]:
    """sha256 by path; a file that is not there is left to the rule that needs it."""
    return {path.as_posix(): sha256(path.read_bytes()) for path in files if path.is_file()}


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(name, old, new) of what is not the same; None where one of them has it not."""
    names = sorted({*old, *new})
    return [(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]


def _short(digest: str | None) -> str:
    return f"sha256 {digest[:12]}…" if digest else "no such file"


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, part in value.items():
        if isinstance(part, Mapping):
            yield from _leaves(part, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", part
