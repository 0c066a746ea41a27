"""The code digest of a rule: what counts as its code and what does not (DESIGN §4.2)."""

from pathlib import Path

import pytest

from skillmake import codehash
from skillmake.codehash import code_digest

ROOT = Path(__file__).parents[2]
FILES = {
    "scripts/rule.py": "from skillmake.near import f\n\n\ndef main(job):\n    return f(job)\n",
    "skillmake/__init__.py": "",
    "skillmake/near.py": "from skillmake import far\nimport json\n\n\ndef f(x):\n    return far.g(x)\n",
    "skillmake/far.py": "def g(x):\n    import skillmake.pack.inner\n    return x\n",
    "skillmake/pack/__init__.py": "A = 1\n",
    "skillmake/pack/inner.py": "from skillmake import near  # a circle\nB = 1\n",
    "skillmake/other.py": "C = 1\n",
    "skillmake/job.py": "D = 1\n",
    "skillmake/config/__init__.py": "E = 1\n",
    "skillmake/config/load.py": "F = 1\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package of the same name and a script that uses it."""
    for name, text in FILES.items():
        write(tmp_path / name, text)
    monkeypatch.setattr(codehash, "PACKAGE", tmp_path / "skillmake")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def digest_of(tree: Path) -> str:
    codehash._parsed.cache_clear()
    codehash._file.cache_clear()  # as in a new process
    return code_digest(tree / "scripts" / "rule.py")


def changes(tree: Path, name: str, text: str) -> bool:
    """Whether the digest changes with the text of a file."""
    before = digest_of(tree)
    write(tree / name, text)
    return digest_of(tree) != before


@pytest.mark.parametrize(
    "name", ["scripts/rule.py", "skillmake/near.py", "skillmake/far.py", "skillmake/pack/inner.py"]
)
def test_the_script_and_what_it_imports_count_however_far(tree: Path, name: str) -> None:
    assert changes(tree, name, FILES[name] + "X = 1\n")


@pytest.mark.parametrize("name", ["scripts/rule.py", "skillmake/near.py", "skillmake/pack/inner.py"])
def test_comments_and_layout_do_not_count(tree: Path, name: str) -> None:
    assert not changes(tree, name, "# About.\n\n" + FILES[name].replace("\n", "  # why\n\n"))


def test_a_module_that_is_not_imported_does_not_count(tree: Path) -> None:
    assert not changes(tree, "skillmake/other.py", "C = 2\n")


def test_a_module_counts_from_the_moment_it_is_imported(tree: Path) -> None:
    assert changes(tree, "skillmake/far.py", FILES["skillmake/far.py"] + "from skillmake.other import C\n")
    assert changes(tree, "skillmake/other.py", "C = 2\n")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("skillmake/job.py", "from skillmake.job import D\n"),
        ("skillmake/config/load.py", "from skillmake.config.load import F\n"),
        ("skillmake/config/__init__.py", "import skillmake.config\n"),
    ],
)
def test_runner_and_parameters_do_not_count_though_imported(tree: Path, name: str, line: str) -> None:
    write(tree / "scripts/rule.py", FILES["scripts/rule.py"] + line)
    assert not changes(tree, name, "Z = 9\n")


def test_a_package_counts_by_its_init_when_a_name_is_taken_from_it(tree: Path) -> None:
    write(tree / "scripts/rule.py", "from skillmake.pack import A\n")
    assert changes(tree, "skillmake/pack/__init__.py", "A = 2\n")


def test_the_digest_does_not_depend_on_the_place(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of(tree)
    moved = tree.parent / f"{tree.name}-moved"
    tree.rename(moved)
    monkeypatch.setattr(codehash, "PACKAGE", moved / "skillmake")
    assert digest_of(moved) == before


def test_each_real_script_has_a_digest_of_its_own() -> None:
    scripts = sorted((ROOT / "scripts").glob("*.py"))
    assert scripts
    assert len({code_digest(path) for path in scripts}) == len(scripts)
