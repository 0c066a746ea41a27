"""Digest of the code that makes an artefact: a rule's script and all it imports from this package.

It is taken from the syntax tree, so comments and layout do not count (DESIGN §4.2).
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from skillmake.artifacts import digest, sha256

PACKAGE = Path(__file__).parent
# The runner stamps and stores but decides nothing; parameters are hashed by value.
NOT_CONTENT = ("skillmake.job", "skillmake.config")


def code_digest(script: Path) -> str:
    """Digest of a script together with every module of the package that it imports, directly or not."""
    seen: dict[str, str] = {}
    own, imported = _parsed(script)
    todo = list(imported)
    while todo:
        name = todo.pop()
        path = _file(name)
        if path is None or name in seen or name.startswith(NOT_CONTENT):
            continue
        seen[name], more = _parsed(path)
        todo += more
    return digest({"script": own, "modules": seen})


@cache
def _parsed(path: Path) -> tuple[str, tuple[str, ...]]:
    tree = ast.parse(path.read_bytes())
    names = tuple(sorted(set(_imports(tree))))
    return sha256(ast.dump(tree)), names


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@cache
def _file(name: str) -> Path | None:
    if name.split(".")[0] != PACKAGE.name:
        return None
    base = PACKAGE.parent.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None
