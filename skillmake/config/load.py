"""From a parameter file to a checked Config, with errors that name the path and the way out."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from skillmake.config.allowed import allowed
from skillmake.config.models import Config
from skillmake.config.modes import Modes
from skillmake.errors import ConfigError
from skillmake.questions import closest

MAY_BE_SECRET = ("api_key_env", "base_url")  # a key put there by mistake must not be shown


def load_config(*paths: str | Path) -> Config:
    """Read parameter files; a later file overrides single keys of the ones before it."""
    merged: dict[str, Any] = {}
    for path in paths:
        try:
            value = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(f"{path}: no such file") from None
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not valid YAML: {error}") from None
        if value is not None and not isinstance(value, dict):
            raise ConfigError(f"{path}: expected `section: {{key: value}}`, got {type(value).__name__}")
        merged = overlay(merged, value or {})
    return parse_config(merged, " + ".join(str(path) for path in paths))


def overlay(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the keys of `top`, section by section."""
    out = dict(base)
    for key, value in top.items():
        below = out.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        out[key] = overlay(below, value) if both else value  # type: ignore[arg-type]
    return out


def parse_config(value: Mapping[str, Any], source: str = "params.yaml") -> Config:
    """Validate parameters; a ConfigError lists each problem: path, value, what is allowed, closest key."""
    try:
        return Config.model_validate(dict(value))
    except ValidationError as error:
        lines = [_explain(problem) for problem in error.errors()]
        raise ConfigError(
            "\n".join(f"{source}: {line}" for line in lines), "`skillmake params` lists every parameter"
        ) from None


def with_short_keys(value: Mapping[str, Any], command_line: Iterable[str]) -> dict[str, Any]:
    """Parameters in which a key of `modes` that the command line gives, `version=best`, stands in `modes`."""
    short = {key: value[key] for key in command_line if key in Modes.model_fields}
    return overlay({key: part for key, part in value.items() if key not in short}, {"modes": short})


def _explain(problem: Any) -> str:
    path = [str(part) for part in problem["loc"]]
    name = ".".join(path)
    if problem["type"] == "extra_forbidden":
        known = sorted(_keys_at(path[:-1]))
        # The command line may leave out the section of these
        short = [] if path[:-1] else [key for key in Modes.model_fields if key not in known]
        found = closest(path[-1], [*known, *short])
        full = [*(["modes"] if found in short else path[:-1]), found or ""]
        hint = f"did you mean `{'.'.join(full)}`?" if found else "no such key."
        return f"{name}: unknown parameter; {hint} Allowed here: {', '.join(known)}"
    message = str(problem["msg"]).removeprefix("Value error, ")
    if not path or path[-1] in MAY_BE_SECRET:
        return f"{name}: {message}" if path else message
    given = problem["input"]
    return (
        f"{name}: {message}, got {given if isinstance(given, BaseModel) else json.dumps(given, default=str)}"
    )


def _keys_at(path: list[str]) -> list[str]:
    model: Any = Config
    for part in path:
        model = model_of(model.model_fields[part].annotation)
    return list(model.model_fields)


def model_of(annotation: Any) -> Any:
    """The section model of a field, or None for a plain value."""
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, BaseModel):
            return part
    return None


def hashed_part(model: BaseModel) -> dict[str, Any]:
    """The values that may change a result: all but the fields marked as unhashed."""
    out: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and extra.get("hashed") is False:
            continue
        value = getattr(model, name)
        out[name] = hashed_part(value) if isinstance(value, BaseModel) else value
    return {key: value for key, value in out.items() if value != {}}


def pick(value: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """The sub-tree of `value` at dotted `keys`; a key that was left out (unhashed) is skipped."""
    out: dict[str, Any] = {}
    for key in keys:
        source: Any = value
        target = out
        *path, leaf = key.split(".")
        for part in path:
            source = source[part]
            target = target.setdefault(part, {})
        if leaf in source:
            target[leaf] = source[leaf]
    return out


def granted(hashed: Mapping[str, Any], unhashed: Mapping[str, Any]) -> Config:
    """A Config that holds only the parameters a rule was given: reading another is an AttributeError.

    `hashed`: what the rule may see; `unhashed`: settings that change no result (added where the
    section itself is granted, and the whole of `limits`).
    """
    merged = overlay(_restrict(unhashed, hashed), hashed)
    sections = {name: _adapter(name).validate_python(value) for name, value in merged.items()}
    config = Config.model_construct(**sections)
    _prune(config, merged)
    return config


def _adapter(name: str) -> TypeAdapter[Any]:
    annotation: Any = Config.model_fields[name].annotation
    return TypeAdapter(annotation)


def _restrict(value: Mapping[str, Any], to: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, part in value.items():
        if key == "limits":
            out[key] = part
        elif isinstance(part, Mapping) and isinstance(to.get(key), Mapping):
            out[key] = _restrict(part, to[key])
        elif not isinstance(part, Mapping) and to:
            out[key] = part
    return out


def _prune(model: BaseModel, given: Mapping[str, Any]) -> None:
    for name in type(model).model_fields:
        if name not in given:
            model.__dict__.pop(name, None)
        elif isinstance(given[name], Mapping) and isinstance(value := getattr(model, name), BaseModel):
            _prune(value, given[name])


def unhashed_part(config: Config) -> dict[str, Any]:
    """The settings that change no result, as a tree."""
    everything = config.model_dump(mode="json")
    return _difference(everything, json.loads(json.dumps(hashed_part(config))))


def _difference(everything: Mapping[str, Any], without: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in everything.items():
        if key not in without:
            out[key] = value
        elif isinstance(value, Mapping) and (rest := _difference(value, without[key])):
            out[key] = rest
    return out


class Parameter(NamedTuple):
    """A parameter by its dotted path; `allowed` and `about` are texts for people."""

    path: str
    default: Any
    allowed: str
    about: str


def describe(model: type[BaseModel] = Config, prefix: str = "") -> Iterator[Parameter]:
    """Every parameter, in the order of the file."""
    for name, field in model.model_fields.items():
        inner, default = model_of(field.annotation), field.get_default(call_default_factory=True)
        if inner is not None and default is not None:
            yield from describe(inner, f"{prefix}{name}.")
        else:
            yield Parameter(f"{prefix}{name}", default, allowed(field), field.description or "")
