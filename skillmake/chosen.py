"""What a user has named for infer, eval, diagnose or promote: versions and files of a run (SPEC §8)."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillmake.artifacts import read_json
from skillmake.errors import DataError
from skillmake.questions import did_you_mean

# Texts of an epoch's end in order of time, after those of its steps
END = ("settled_texts.json", "momentum_texts.json", "prompts_texts.json", "texts.json")


BEST = "best.json"


@dataclass(frozen=True)
class Chosen:
    """A version of the skills with one of the prompts, by digest, and the artefact that holds both."""

    file: Path
    skills: str
    prompts: str

    @classmethod
    def of(cls, file: Path) -> "Chosen":
        """The digests that `file` holds: texts, or a report of the best version."""
        value = read_json(file)
        try:
            texts = value["texts"] if file.name == BEST else value
            return cls(file, texts["skills"]["digest"], texts["prompts"]["digest"])
        except (KeyError, TypeError):
            raise DataError(
                f"{file}: holds no version", "`skillmake verify` names what was changed"
            ) from None


def choose(run_dir: Path, name: str) -> Chosen:
    """What `name` means: `current` (what the loop has come to), `best`, `seed`, `epoch:N`, or a digest or
    its unique prefix, which is taken with the version that it stood beside first.

    Raises DataError when the run is not there, or when it has no such version.
    """
    places = texts_files(run_dir)
    if not places:
        raise DataError(f"{run_dir}: no such run, or nothing in it yet", "run `snakemake --cores 8` first")
    if name == "best":
        found = sorted(run_dir.glob("e*/end/best.json"))[-1:] or [run_dir / "init" / "best.json"]
        return Chosen.of(found[0])
    if name == "current":
        return Chosen.of([path for path in places if path.name == "texts.json"][-1])
    if match := re.fullmatch(r"seed|epoch:(\d+)", name):
        epoch = int(match[1] or 0)
        file = run_dir / (f"e{epoch:02d}/end/texts.json" if epoch else "data/texts.json")
        if file not in places:
            ended = [f"epoch:{int(path.parts[-3][1:])}" for path in places if path.match("end/texts.json")]
            raise DataError(
                f"{name}: {run_dir} has no such end of an epoch",
                f"it has {', '.join(ended)}" if ended else "its first epoch has not ended yet",
            )
        return Chosen.of(file)
    return _by_digest(run_dir, places, name)


def _by_digest(run_dir: Path, places: list[Path], prefix: str) -> Chosen:
    known: dict[str, Chosen] = {}
    for path in places:
        chosen = Chosen.of(path)
        known.setdefault(chosen.skills, chosen)
        known.setdefault(chosen.prompts, chosen)
    found = [digest for digest in known if digest.startswith(prefix)]
    if len(found) == 1:
        return known[found[0]]
    if found:
        raise DataError(
            f"{prefix}: several versions of {run_dir} start so", f"give more of {', '.join(found)}"
        )
    raise DataError(
        f"{prefix}: {run_dir} holds no version that starts so",
        f"current, best, seed, epoch:N, or one of: {', '.join(known)}",
    )


def holder(run_dir: Path, skills: str, prompts: str) -> Path:
    """The artefact that holds these two versions together, as every measured pair has one."""
    for path in [*texts_files(run_dir), *sorted(run_dir.glob("modes/*/*/version.json"))]:
        chosen = Chosen.of(path)
        if (chosen.skills, chosen.prompts) == (skills, prompts):
            return path
    raise DataError(
        f"{run_dir} does not hold skills {skills} with prompts {prompts}",
        "give rollouts of this run, or its name with `--config run=NAME`",
    )


def texts_files(run_dir: Path) -> list[Path]:
    """The artefacts of a run that are texts, in order of time."""
    return [path for _, path in sorted(_by_time(run_dir))]


def _by_time(run_dir: Path) -> Iterator[tuple[tuple[str, bool, str, int], Path]]:
    for pattern in ("data/texts.json", "e*/s*/texts.json", "e*/end/*texts.json"):
        for path in run_dir.glob(pattern):
            epoch, *step = path.relative_to(run_dir).parts[:-1]
            at_end = step == ["end"]
            late = END.index(path.name) if path.name in END else 0
            # `data` comes before `e01`
            yield (epoch, at_end, "".join(step), late), path


def labelled_rollouts(run_dir: Path, given: Sequence[str] | None) -> dict[str, Path]:
    """Files of rollouts by a label that names a folder: those `given`, else those of the run's steps.

    A step's label is `<epoch>.<step>`, another file's is its path.
    """
    files = sorted(run_dir.glob("e*/s*/rollout.json")) if given is None else [Path(name) for name in given]
    if not files:
        raise DataError(f"{run_dir}: has no rollouts of steps", "give a file: `--config rollouts=FILE`")
    for path in files:
        if not path.is_file():
            raise DataError(f"{path}: no such file", "see modes.rollouts")
    return {_label(run_dir, path): path for path in files}


def _label(run_dir: Path, path: Path) -> str:
    inside = path.relative_to(run_dir) if path.is_relative_to(run_dir) else path
    if match := re.fullmatch(r"e(\d+)/s(\d+)/rollout.json", inside.as_posix()):
        return f"{match[1]}.{match[2]}"
    return folder_name(inside.with_suffix("").as_posix())


def folder_name(text: str) -> str:
    """A name for a folder, near to `text`."""
    return re.sub(r"[^A-Za-z0-9_-]+", ".", text).strip(".")


def versions_of(rollouts: Path) -> tuple[str, str]:
    """Digests of the skills and the prompts that rollouts were made with."""
    try:
        value = json.loads(rollouts.read_bytes())
        _ = value["rows"]
        return str(value["skills"]), str(value["prompts"])
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{rollouts}: not a file of rollouts", "such files have `skills`, `prompts` and `rows`"
        ) from None


def questions_of(run_dir: Path, rollouts: Path) -> Path:
    """The questions that were asked: those beside the rollouts, else those of the run."""
    beside = rollouts.parent / "questions.jsonl"
    return beside if beside.is_file() else run_dir / "data" / "questions.jsonl"


def check_free(folder: Path, skills: str, prompts: str) -> None:
    """Raise DataError when `folder` is there and is not this very seed: others may start from it."""
    note = folder / "seed.json"
    there = folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir())
    if not there:
        return
    known = read_json(note) if note.is_file() else {}
    if (known.get("skills"), known.get("prompts")) != (skills, prompts):
        what = f"skills {known['skills']} with prompts {known['prompts']}" if known else "not a promoted seed"
        raise DataError(f"{folder}: is there already: {what}", "choose another name")


def no_such_seed(folder: Path) -> DataError:
    """That there is no seed in `folder`, with those that stand beside it."""
    known = sorted(path.parent.name for path in folder.parent.glob("*/seed.json"))
    there = f"data.seed may be {', '.join(known)}; " if known else ""
    how = f"`snakemake --cores 8 promote --config version=best name={folder.name}` makes it"
    return DataError(f"{folder}: no such seed.{did_you_mean(folder.name, known)}", there + how)
