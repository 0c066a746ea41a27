"""Prompt templates: Jinja2 files in which an unknown name is an error."""

from functools import cache
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from skillmake.errors import DataError

if TYPE_CHECKING:
    from jinja2 import Environment


class Templates:
    """Renders the files under `root`; a DataError names the file and the line."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def render(self, name: str, /, **values: Any) -> str:
        from jinja2.exceptions import TemplateError, TemplateNotFound

        path = self._root / name
        try:
            return _environment(self._root, self._root.resolve()).get_template(name).render(**values)
        except TemplateNotFound as error:
            missing = self._root / (error.name or name)
            raise DataError(f"{missing.as_posix()}: no such prompt template") from None
        except UnicodeDecodeError:
            raise DataError(f"{path.as_posix()}: not UTF-8", "save the file as UTF-8") from None
        except TemplateError as error:
            # A syntax error knows its line; that of an unknown name is in the traceback.
            frames = [f for f in extract_tb(error.__traceback__) if Path(f.filename) == path]
            line = getattr(error, "lineno", None) or (frames[-1].lineno if frames else None)
            place = f"{path.as_posix()}{f':{line}' if line else ''}"
            raise DataError(
                f"{place}: {error}", "see the template beside it for the names there are"
            ) from None


@cache
def _environment(root: Path, _: Path) -> "Environment":
    """Compiles each template once; the second path tells relative roots of different folders apart."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(root),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
