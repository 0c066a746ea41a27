"""From the configuration of a role to its client."""

from pathlib import Path

from skillmake.config.models import Config
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter, Price
from skillmake.llm.types import Provider, Role


def make_client(config: Config, role: Role, *, cache_dir: Path, log_dir: Path, log_name: str) -> Client:
    """The client of `role`; needs the sections `models.<role>`, `limits` and, for it, `rehearsal`."""
    limits = config.limits
    model = getattr(config.models, role)
    caps = Caps(limits.max_calls, limits.max_tokens, limits.max_cost, limits.max_seconds)
    meter = Meter(log_dir, caps, log_name)
    return Client(
        make_provider(config, role),
        role,
        CallCache(cache_dir),
        meter,
        price=Price(model.price_in, model.price_out),
        slots=limits.slots,
        timeout=limits.timeout,
        retries=limits.retries,
    )


def make_provider(config: Config, role: Role) -> Provider:
    model = getattr(config.models, role)
    if model.provider == "openai":
        from skillmake.llm.openai_provider import OpenAIProvider

        return OpenAIProvider(model, config.limits.timeout)
    if model.provider == "local":
        from skillmake.llm.local import LocalProvider

        return LocalProvider(model.model, config.limits.slots)
    from skillmake.rehearsal.provider import RehearsalProvider
    from skillmake.rehearsal.world import World

    return RehearsalProvider(World(config.rehearsal), role)
