"""params.yaml and its JSON schema, generated from the models; a test fails when they drift."""

import json
import textwrap
from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel

from skillmake.config.load import model_of
from skillmake.config.models import Config

WIDTH = 100
HEAD = """\
# Every parameter with its default. Generated: `skillmake params --yaml > params.yaml`.
# A file in configs/ overrides single keys: `snakemake --cores 8 --configfile configs/<file>`.
"""


def params_yaml() -> str:
    """The default parameter file with each field's description as a comment."""
    return HEAD + "\n".join(_lines(Config, Config(), "")) + "\n"


def schema_json() -> str:
    """JSON schema (2020-12) of a parameter file, for editors."""
    return json.dumps(Config.model_json_schema(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _lines(model: type[BaseModel], values: BaseModel, indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        value = getattr(values, name)
        inner = model_of(field.annotation)
        about = field.description or (inner.__doc__ if inner else "") or ""
        if not indent:
            yield ""
        yield from textwrap.wrap(
            " ".join(about.split()), WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
        )
        if inner is not None and value is not None:
            yield f"{indent}{name}:"
            yield from _lines(inner, value, indent + "  ")
        else:
            yield f"{indent}{name}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()
