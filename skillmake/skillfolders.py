"""Folders of Agent Skills on disk: read, checked, and written whole or not at all.

A skill is a folder with SKILL.md; what else lies in it is kept byte for byte and never trained.
"""

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillmake.agentskills import SKILL_FILE, Problem, check_skill
from skillmake.errors import DataError
from skillmake.history import History
from skillmake.lineage import find_version
from skillmake.texts import DEFAULT_SKILL, skill_path

MOST_SHOWN = 40


@dataclass(frozen=True)
class SkillFolder:
    """One skill: the bytes of its SKILL.md, and where its further files lie, by path inside of the skill."""

    name: str
    skill: bytes
    further: Mapping[str, Path]


def read_skills(root: Path) -> tuple[list[SkillFolder], list[Problem]]:
    """The skills in a folder (or the one that it is), sorted by name, and all their problems.

    Raises DataError when there is no skill, or when a file cannot be read.
    """
    if (root / SKILL_FILE).is_file():
        names = [root]
    else:
        names = sorted(path.parent for path in root.glob(f"*/{SKILL_FILE}"))
    if not names:
        deeper = sorted({path.parents[1] for path in root.glob(f"*/**/{SKILL_FILE}")})
        hint = f"skills lie deeper, in {deeper[0]}" if deeper else "expected <name>/SKILL.md in it"
        raise DataError(f"{root}: no skills in it", hint)
    try:
        found = [_read(folder) for folder in names]
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read: {error.strerror}") from None
    return [skill for skill, _ in found], [each for _, problems in found for each in problems]


def _read(folder: Path) -> tuple[SkillFolder, list[Problem]]:
    name, further = folder.absolute().name, {}
    data = (folder / SKILL_FILE).read_bytes()
    problems = check_skill(data, name)
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if path.is_symlink():
            problems.append(Problem("is a link: put the file itself there", path=inside))
        elif path.is_file() and inside != SKILL_FILE:
            further[inside] = path
    return SkillFolder(name, data, further), [replace(p, path=f"{name}/{p.path}") for p in problems]


def refuse_errors(what: str, problems: Iterable[Problem], hint: str) -> None:
    """Raise a DataError that lists every error among the problems."""
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        shown = "".join(f"\n  {error}" for error in errors[:MOST_SHOWN])
        more = f"\n  and {len(errors) - MOST_SHOWN} more" if len(errors) > MOST_SHOWN else ""
        count = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
        raise DataError(f"{what}: {count} against the Agent Skills format{shown}{more}", hint)


def write_skills(skills: Sequence[SkillFolder], out: Path) -> list[str]:
    """Write each skill as `out/<name>/`, whole or not at all; returns the names that were not there before.

    A folder that is there with just the same files is left as it is. Raises DataError before anything is
    written when one is there with other files.
    """
    new = [skill for skill in skills if not _is_same(skill, out / skill.name)]
    taken = [skill.name for skill in new if (out / skill.name).exists()]
    if taken:
        raise DataError(
            f"{out}: there already, with other content: {', '.join(taken)}",
            "remove them or choose another --out",
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        for skill in new:
            _write(skill, out)
    except OSError as error:
        raise DataError(
            f"{error.filename or out}: cannot be written: {error.strerror}", "see --out"
        ) from None
    return [skill.name for skill in new]


def _write(skill: SkillFolder, out: Path) -> None:
    with tempfile.TemporaryDirectory(dir=out, prefix=f".{skill.name}.") as beside:
        made = Path(beside) / skill.name
        made.mkdir()
        (made / SKILL_FILE).write_bytes(skill.skill)
        for inside, source in skill.further.items():
            (made / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, made / inside)  # with its mode: a script stays executable
        made.rename(out / skill.name)


def _is_same(skill: SkillFolder, folder: Path) -> bool:
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if not p.is_dir()}
    same = there.keys() == {SKILL_FILE, *skill.further} and there[SKILL_FILE].read_bytes() == skill.skill
    return same and all(there[name].read_bytes() == p.read_bytes() for name, p in skill.further.items())


def version_skills(history: History, version: str, files_in: Path) -> list[SkillFolder]:
    """The skills of a version of a run (see `find_version`), with the further files of their seed skills.

    The files come from `files_in`, the folder of the seed: training changes SKILL.md and nothing else. A
    skill that began as a copy of the default one has the files of that one. Raises DataError when the
    version is none of the skills, when the run has not kept it, or when it breaks the format.
    """
    digest = find_version(history, version).get("skills")
    texts = history.files("skills", digest)
    if texts is None:
        why = "is a version of the prompts" if digest is None else "its texts were not kept"
        raise DataError(f"{version}: {why} (run {history.run})", "`skillmake lineage best` lists versions")
    skills, problems = [], []
    for path, text in sorted(texts.items()):
        name = path.removesuffix(f"/{SKILL_FILE}")
        own = files_in / name
        skills.append(
            SkillFolder(name, text.encode(), _further(own if own.is_dir() else files_in / DEFAULT_SKILL))
        )
        problems += [replace(p, path=path) for p in check_skill(text.encode(), name)]
    refuse_errors(
        f"version {digest} of run {history.run}", problems, "correct the seed skill and train again"
    )
    return skills


def _further(folder: Path) -> Mapping[str, Path]:
    return read_skills(folder)[0][0].further if (folder / SKILL_FILE).is_file() else {}


def serving(skills: Iterable[SkillFolder], task_types: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Skill that each task type would use, and the types for which there is none."""
    files = {f"{skill.name}/{SKILL_FILE}": "" for skill in skills}
    served, missing = {}, []
    for task_type in task_types:
        try:
            served[task_type] = skill_path(files, task_type).removesuffix(f"/{SKILL_FILE}")
        except DataError:
            missing.append(task_type)
    return served, missing
