"""An endpoint of the OpenAI API before it is asked: address, key, and the models that it lists."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from skillmake.config.endpoints import ModelConfig
from skillmake.doctor.lines import Line, trouble
from skillmake.errors import EndpointError
from skillmake.llm.openai_provider import OpenAIProvider, address
from skillmake.questions import closest

HIDDEN = "…"


@dataclass
class Listed:
    """What asking for the list of models has shown; `models` is None where there is no list."""

    is_usable: bool = False
    models: tuple[str, ...] | None = None
    lines: list[Line] = field(default_factory=list)


def secrets_of(model: ModelConfig) -> list[str]:
    """What must not be shown: the key, and the password in an address."""
    password = urlsplit(model.base_url or "").password if _address_problem(model) == "" else ""
    return [secret for secret in (os.environ.get(model.api_key_env, ""), password) if secret]


def hide(text: str, secrets: list[str]) -> str:
    """The text without any of the secrets, which an endpoint may quote."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def look(model: ModelConfig, timeout: float) -> Listed:
    """Check address and key, then ask for the list of models, which costs nothing."""
    found = Listed()
    if problem := _address_problem(model):
        todo = "models.*.base_url is http://host:port/v1 or the like"
        found.lines.append(Line("fail", "endpoint", problem, todo))
        return found
    try:
        OpenAIProvider(model, timeout)
    except EndpointError as error:
        found.lines.append(trouble("key", error, "models.*.api_key_env"))
        return found
    found.lines += _ask_for_models(model, timeout, found)
    return found


def _address_problem(model: ModelConfig) -> str:
    given = model.base_url or os.environ.get("OPENAI_BASE_URL")
    if given is None:
        return ""
    try:
        parts = urlsplit(given)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    return "" if sound else "models.*.base_url is no address of a server"


def _ask_for_models(model: ModelConfig, timeout: float, found: Listed) -> Iterator[Line]:
    import openai

    where = address(model)
    key = os.environ.get(model.api_key_env) or "unused"
    client = openai.OpenAI(api_key=key, base_url=model.base_url, max_retries=0, timeout=timeout)
    try:
        rows = getattr(client.models.list(), "data", None)
        found.models = None if rows is None else tuple(sorted(str(row.id) for row in rows))
    except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
        yield Line("ok", "endpoint", f"{where}: reached")
        yield key_line(model, f"HTTP {error.status_code}")
        return
    except openai.APITimeoutError:
        yield from _unreachable(model, where, f"no answer within {timeout:g} s")
        return
    except openai.APIConnectionError as error:
        yield from _unreachable(model, where, str(error.__cause__ or error))
        return
    except (openai.APIError, ValueError, AttributeError):
        pass  # Not every endpoint lists its models; the first probe will tell
    finally:
        client.close()
    found.is_usable = True
    yield Line("ok", "endpoint", f"{where}: reached")
    if found.models is not None and model.model in found.models:
        yield Line("ok", "model", f"{model.model}: listed by the endpoint")


def key_line(model: ModelConfig, refusal: str = "") -> Line:
    """The line of the key, once a call has been answered or refused."""
    is_set = bool(os.environ.get(model.api_key_env))
    named = f"environment variable {model.api_key_env}"
    if refusal:
        found = f"{named}: {'refused' if is_set else 'not set, and a key is asked for'} ({refusal})"
        return Line("fail", "key", found, f"export {model.api_key_env}=… with a valid key")
    return Line("ok", "key", f"{named}: accepted" if is_set else f"{named}: not set, and none is asked for")


def _unreachable(model: ModelConfig, where: str, reason: str) -> Iterator[Line]:
    """The endpoint, and a key that it may ask for later."""
    todo = "start the server, or correct models.*.base_url"
    yield Line("fail", "endpoint", f"{where}: not reached: {reason}", todo)
    if not os.environ.get(model.api_key_env):
        found = f"environment variable {model.api_key_env}: not set"
        yield Line("warn", "key", found, f"export {model.api_key_env}=… if it asks for one")


def unknown_model(model: ModelConfig, models: tuple[str, ...] | None, reason: str) -> Line:
    """The line of a model that the endpoint does not have."""
    near = closest(model.model, models or ())
    hint = f"did you mean {near}?" if near else "set models.*.model to one that the endpoint serves"
    return Line("fail", "model", f"{model.model}: {reason}", hint)
