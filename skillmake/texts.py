"""The texts that are trained: skill files and prompts, as immutable versions (SPEC §2)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from skillmake.artifacts import Artifact, digest
from skillmake.config.data import Data
from skillmake.errors import DataError
from skillmake.questions import slug
from skillmake.skilltext import parse_skill, renamed

DEFAULT_SKILL = "default-strategy"
SYSTEM_PROMPT = "system.md"
TOOL_PARTS = ("extract", "verify")


class Version(Artifact):
    """Files by path; same content, same digest. `parent` and `source` say where it comes from."""

    digest: str
    parent: str | None
    source: str
    files: dict[str, str]

    @classmethod
    def of(cls, files: Mapping[str, str], parent: str | None, source: str) -> "Version":
        return cls(digest=digest(dict(files)), parent=parent, source=source, files=dict(files))

    def changed(self, path: str, text: str, source: str) -> "Version":
        """The next version with one file changed; the same version if nothing changes."""
        return self.updated({path: text}, source)

    def updated(self, files: Mapping[str, str], source: str) -> "Version":
        """The next version with these files changed together; the same version if nothing changes."""
        after = {**self.files, **files}
        return self if after == self.files else Version.of(after, self.digest, source)


class Texts(Artifact):
    """What an agent is steered by: one version of the skills, one of the prompts."""

    skills: Version
    prompts: Version

    @property
    def system(self) -> str:
        return self.prompts.files[SYSTEM_PROMPT]

    def skill(self, task_type: str) -> str:
        return self.skills.files[self.skill_path(task_type)]

    def skill_path(self, task_type: str) -> str:
        """`<slug>/SKILL.md` of the type, else the shared default; DataError when there is neither."""
        return skill_path(self.skills.files, task_type)

    def tool(self, name: str) -> tuple[str, str]:
        """The extract and the verify prompt of a tool; a text that is not there is empty."""
        extract, verify = (self.prompts.files.get(tool_path(name, part), "") for part in TOOL_PARTS)
        return extract, verify

    def with_skill(self, path: str, text: str, source: str) -> "Texts":
        return self.with_skills({path: text}, source)

    def with_skills(self, files: Mapping[str, str], source: str) -> "Texts":
        return Texts(skills=self.skills.updated(files, source), prompts=self.prompts)

    def with_prompts(self, files: Mapping[str, str], source: str) -> "Texts":
        return Texts(skills=self.skills, prompts=self.prompts.updated(files, source))


def skill_path(files: Mapping[str, str], task_type: str) -> str:
    for name in (slug(task_type), DEFAULT_SKILL):
        if f"{name}/SKILL.md" in files:
            return f"{name}/SKILL.md"
    raise DataError(
        f"no skill file for task type {task_type!r}",
        f"add {slug(task_type)}/SKILL.md or {DEFAULT_SKILL}/SKILL.md to data.skills",
    )


def tool_path(name: str, part: str) -> str:
    """Where the `extract` or `verify` prompt of a tool is, in a version of the prompts."""
    return f"tools/{name}/{part}.md"


def is_default(path: str) -> bool:
    return path == f"{DEFAULT_SKILL}/SKILL.md"


def seed_texts(data: Data, trainable: Sequence[str]) -> Texts:
    """What training starts from: the seed, with a skill file per trainable type if that is wanted."""
    texts = read_seed(Path(data.skills), Path(data.prompts))
    return own_skills(texts, trainable) if data.own_skill_per_type else texts


def read_seed(skills_dir: Path, prompts_dir: Path) -> Texts:
    """The seed texts, prompts of tools included; each skill file is checked (DataError with its path)."""
    skills = {}
    for path in sorted(skills_dir.glob("*/SKILL.md")):
        text = _read(path)
        parse_skill(text, path.as_posix())
        skills[path.relative_to(skills_dir).as_posix()] = text
    if not skills:
        raise DataError(
            f"{skills_dir.as_posix()}: no <slug>/SKILL.md in it", "see data.skills in params.yaml"
        )
    prompts = [prompts_dir / SYSTEM_PROMPT, *tool_prompts(prompts_dir)]
    return Texts(
        skills=Version.of(skills, None, "seed"),
        prompts=Version.of(
            {path.relative_to(prompts_dir).as_posix(): _read(path) for path in prompts}, None, "seed"
        ),
    )


def tool_prompts(prompts_dir: Path) -> list[Path]:
    """The files of the tools' prompts in a folder of seed prompts, sorted."""
    return sorted(path for part in TOOL_PARTS for path in prompts_dir.glob(tool_path("*", part)))


def own_skills(texts: Texts, task_types: Sequence[str]) -> Texts:
    """Give each type without a skill file its own copy of the shared default, under its own name."""
    files = dict(texts.skills.files)
    shared = files.get(f"{DEFAULT_SKILL}/SKILL.md")
    for task_type in task_types:
        path = f"{slug(task_type)}/SKILL.md"
        if path not in files and shared is not None:
            files[path] = renamed(shared, slug(task_type))
    return Texts(skills=Version.of(files, None, "seed"), prompts=texts.prompts)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path.as_posix()}: no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path.as_posix()}: not UTF-8", "save the file as UTF-8") from None
