"""What the pages of docs/ quote and show is what the code says and draws."""

import ast
import re
import runpy
from pathlib import Path

import pytest

from skillmake.config.load import describe

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def texts_of_the_code() -> list[str]:
    """Texts of the package, no docstrings, those of f-strings piece by piece; and the rules as they are."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "skillmake").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    used = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in docs]
    return [text for text in used if isinstance(text, str)] + [
        path.read_text() for path in (ROOT / "rules").glob("*.smk")
    ]


def test_each_message_in_troubleshooting_is_one_of_the_code() -> None:
    text = (DOCS / "troubleshooting.md").read_text()
    messages = re.findall(r"^### (`+) ?(.+?) ?\1$", text, re.MULTILINE)
    assert len(messages) == text.count("\n### ") > 30
    known = texts_of_the_code()
    pieces = [piece for _, message in messages for piece in message.split("…") if piece.strip()]
    assert [piece for piece in pieces if not any(piece.strip() in text for text in known)] == []


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_a_page_names_parameters_that_there_are(page: str) -> None:
    known = {path for path, *_ in describe()}
    sections = {path.split(".")[0] for path in known if "." in path}
    named = re.findall(r"`([a-z]+\.[a-z_0-9]+(?:\.[a-z_0-9]+)*)", (DOCS / page).read_text())
    wrong = {name for name in named if name.split(".")[0] in sections and not _is_known(name, known)}
    assert wrong == set()


def _is_known(name: str, known: set[str]) -> bool:
    beginning = name if name.endswith("_") else f"{name}."
    return name in known or any(path.startswith(beginning) for path in known)


def test_the_figures_are_drawn_by_the_script(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(DOCS / "figures.py"))
    script["main"](tmp_path)
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.svg")}
    assert set(drawn) == {f"{name}.svg" for name in script["FIGURES"]}
    assert drawn == {name: (DOCS / name).read_bytes() for name in drawn}


def test_each_link_of_the_readme_leads_to_a_file() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text())
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []
