"""skills check, import and export: what goes in comes out, byte for byte; nothing is written over."""

import os
from pathlib import Path

import pytest

from skillmake.config.load import parse_config
from skillmake.questions import dump_questions
from skillmake.structure import record, structure_of
from tests.commands import fails, run
from tests.small_run import SEED, SmallRun, seed_text
from tests.worlds import question

PICTURE = bytes(range(256))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two skills as others write them, one with files of its own."""
    root = tmp_path / "theirs"
    for path, text in SEED.skills.files.items():
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text)
    for name in ("scripts", "assets/deep"):
        (root / "alpha" / name).mkdir(parents=True)
    script = root / "alpha" / "scripts" / "go.sh"
    script.write_bytes(b"#!/bin/sh\r\necho\r\n")
    script.chmod(0o755)
    (root / "alpha" / "assets" / "deep" / "p.png").write_bytes(PICTURE)
    return root


def files(root: Path) -> dict[str, tuple[bytes, bool]]:
    """Content of every file and whether it can be executed, by path."""
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {p.relative_to(root).as_posix(): (p.read_bytes(), os.access(p, os.X_OK)) for p in found}


def test_a_version_goes_out_as_it_came_in(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "2 skills with 4 files in seed\n" in run("skills", "import", folder, "--out", "seed")
    assert files(Path("seed")) == files(folder)
    SmallRun(tmp_path)
    Path("params.yaml").write_text("run: small\ndata: {skills: seed}\n")
    said = run("skills", "export", "seed", "--out", "out/seed")
    assert said == "version seed of run small: 2 skills in out/seed\n2 further files from seed\n"
    assert files(Path("out/seed")) == files(folder)
    assert run("skills", "check", "out/seed") == "out/seed: 2 skills, valid\n"


def test_the_further_files_are_those_that_the_run_was_started_with(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_dir = SmallRun(tmp_path).folder
    record(run_dir, structure_of(parse_config({"data": {"skills": "theirs"}})), [])
    Path("params.yaml").write_text("run: other\ndata: {skills: elsewhere}\n")
    said = run("skills", "export", "seed", "--run", "small", "--out", "out")
    assert "2 further files from theirs" in said
    assert files(Path("out")) == files(folder)


def test_the_delivered_version_is_trained_text_with_the_seeds_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    best = SmallRun(tmp_path).best.texts.skills
    Path("params.yaml").write_text("run: small\n")
    run("skills", "export", "--out", "out", "--files", folder)
    made = files(Path("out"))
    assert {path: made[path][0].decode() for path in best.files} == best.files
    assert best.files["alpha/SKILL.md"] != seed_text("alpha")
    assert made["alpha/assets/deep/p.png"] == (PICTURE, False)
    assert made["alpha/scripts/go.sh"][1]


def test_import_says_which_skill_serves_which_task_type(folder: Path, tmp_path: Path) -> None:
    types = {"a": "Alpha", "c": "Gamma ray"}
    dump_questions(tmp_path / "q.jsonl", [question(name, kind) for name, kind in types.items()])
    said = run("skills", "import", folder, "--out", tmp_path / "seed", "--questions", tmp_path / "q.jsonl")
    assert said.splitlines()[1:] == [
        "  Alpha: alpha",
        "  Gamma ray: none; add gamma-ray/SKILL.md or default-strategy/SKILL.md",
        "  no task type uses: beta",
    ]


def test_what_is_there_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "seed"
    run("skills", "import", folder / "beta", "--out", out)
    assert "2 of them were there" in run("skills", "import", folder, "--out", out) + run(
        "skills", "import", folder, "--out", out
    )
    (out / "alpha" / "scripts" / "go.sh").write_text("mine")
    before = files(out)
    said = fails(monkeypatch, capsys, "skills", "import", folder, "--out", out)
    assert f"{out}: there already, with other content: alpha\n" in said
    assert files(out) == before


def test_one_bad_skill_and_nothing_is_imported(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "beta").rename(folder / "gamma")
    (folder / "alpha" / "more").symlink_to(folder / "gamma")
    said = fails(monkeypatch, capsys, "skills", "import", folder, "--out", tmp_path / "seed")
    assert "2 errors against the Agent Skills format\n  alpha/more: error: is a link" in said
    assert "\n  gamma/SKILL.md:2: error: name 'beta' must be that of the folder, 'gamma'" in said
    assert not (tmp_path / "seed").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("skills check nowhere", "nowhere: no skills in it\n  → expected <name>/SKILL.md in it\n"),
        ("skills check .", ".: no skills in it\n  → skills lie deeper, in theirs\n"),
        ("skills export nothing --out o", "nothing: no version of run small starts so"),
        ("skills export --run nowhere --out o", "nowhere: no such run\n  → runs here: small\n"),
        ("skills export --out params.yaml/x", "params.yaml/x: cannot be written: Not a directory"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_users_mistake_is_one_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    SmallRun(tmp_path)
    Path("params.yaml").write_text("run: small\n")
    assert says in fails(monkeypatch, capsys, *arguments.split())


def test_prompts_are_no_skills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    SmallRun(tmp_path)
    Path("params.yaml").write_text("run: small\n")
    said = fails(monkeypatch, capsys, "skills", "export", SEED.prompts.digest, "--out", "o")
    assert "is a version of the prompts (run small)" in said
