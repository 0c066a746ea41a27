"""Prompt templates: Jinja2 files in which an unknown name is an error."""

from pathlib import Path
from typing import Any

from skillmake.errors import DataError


class Templates:
    """Renders the files under `root`; a DataError names the file and the line."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def render(self, name: str, **values: Any) -> str:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from jinja2.exceptions import TemplateError, TemplateNotFound

        environment = Environment(
            loader=FileSystemLoader(self._root),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )
        try:
            return environment.get_template(name).render(**values)
        except TemplateNotFound:
            raise DataError(f"{(self._root / name).as_posix()}: no such prompt template") from None
        except TemplateError as error:
            line = getattr(error, "lineno", None)
            place = f"{(self._root / name).as_posix()}{f':{line}' if line else ''}"
            raise DataError(
                f"{place}: {error}", "see the template beside it for the names there are"
            ) from None
