"""From the configuration of a role to its client."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillmake.config.endpoints import ModelConfig
from skillmake.config.models import Config
from skillmake.job import Job
from skillmake.llm.cache import CallCache
from skillmake.llm.client import Client
from skillmake.llm.cost import Caps, Meter, Price
from skillmake.llm.slots import Slots, slots_at
from skillmake.llm.types import Provider, Role

SLOTS = "slots"  # file in the log folder of a run


def make_client(
    config: Config,
    role: Role,
    *,
    cache_dir: Path,
    log_dir: Path,
    log_name: str,
    shared: Slots | None = None,
) -> Client:
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
        name=_name(model),
        price=Price(model.price_in, model.price_out),
        slots=limits.slots,
        timeout=limits.timeout,
        retries=limits.retries,
        retry_wait=limits.retry_wait,
        longest_wait=limits.longest_wait,
        give_up_after=limits.give_up_after,
        shared=shared,
    )


@contextmanager
def job_client(job: Job, role: Role) -> Iterator[Client]:
    """The client of a job, closed behind it. Results in which a call failed are not kept for other runs."""
    client = make_client(
        job.config,
        role,
        cache_dir=job.cache_dir,
        log_dir=job.log_dir,
        log_name=job.name,
        shared=slots_at(job.log_dir / SLOTS, job.all_slots) if job.all_slots else None,
    )
    try:
        yield client
    finally:
        client.close()
    if client.failed:
        job.is_reusable = False


def _name(model: ModelConfig) -> str:
    if model.provider != "openai":
        return model.title
    from skillmake.llm.openai_provider import address

    return f"{model.model} at {address(model)}"


def make_provider(config: Config, role: Role) -> Provider:
    model = getattr(config.models, role)
    if model.provider == "openai":
        from skillmake.llm.openai_provider import OpenAIProvider

        return OpenAIProvider(model, config.limits.timeout, config.limits.answer_bytes)
    if model.provider == "local":
        from skillmake.llm.local import LocalProvider

        return LocalProvider(model.model, config.limits.slots)
    from skillmake.rehearsal.provider import RehearsalProvider
    from skillmake.rehearsal.world import world_of

    return RehearsalProvider(world_of(config.rehearsal), role)
