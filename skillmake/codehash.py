"""Digest of the code that makes an artefact: a rule's script and all it imports from this package.

It is taken from the syntax tree, so comments and layout do not count (DESIGN §4.2).
"""

import ast
from functools import cache
from pathlib import Path

from skillmake.artifacts import digest, sha256
from skillmake.imports import imported_names, module_files

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
    names = tuple(sorted(set(imported_names(tree))))
    return sha256(ast.dump(tree)), names


@cache
def _file(name: str) -> Path | None:
    if name.split(".")[0] != PACKAGE.name:
        return None
    return next(iter(module_files(PACKAGE.parent, name)), None)
