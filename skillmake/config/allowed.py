"""What values a parameter may have, in words, from its type and its bounds."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}  # of the bounds as annotated-types names them
KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text", NoneType: "null"}


def allowed(field: FieldInfo) -> str:
    """Such as `whole number ≥ 1, ≤ 100, or null`; a field of another kind than these is a ValueError."""
    kinds = list(_kinds(field.annotation))
    bounds = [
        f"{sign} {getattr(item, name):.12g}"
        for item in field.metadata
        for name, sign in SIGNS.items()
        if hasattr(item, name)
    ]
    return " ".join([kinds[0], ", ".join(bounds)]).strip() + "".join(f", or {kind}" for kind in kinds[1:])


def _kinds(annotation: Any) -> Iterator[str]:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _kinds(part)
    elif origin is Literal:
        yield " or ".join(get_args(annotation))
    elif origin in (tuple, list):
        yield "list of texts"
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "section of a model"
    elif annotation in KINDS:
        yield KINDS[annotation]
    else:
        raise ValueError(f"no words for a parameter of type {annotation}")
