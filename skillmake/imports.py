"""What a Python module imports, from its syntax tree, and where that lies."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path


def imported_names(tree: ast.AST, parts: Sequence[str] = ()) -> Iterator[str]:
    """Dotted names of all imports; what is imported from a module may be a module as well.

    `parts`: path of the module itself below the root, by which relative imports are resolved.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parts[: -node.level] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from filter(None, [module])
            yield from (f"{module}.{name.name}".lstrip(".") for name in node.names)


def module_files(root: Path, name: str) -> list[Path]:
    """Files below `root` that hold the module or package of this dotted name."""
    base = root.joinpath(*name.split("."))
    return [path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()]
