"""The environment that `agent.environment` names."""

from importlib import import_module
from pathlib import Path

from skillmake.agent.environments.base import Environment
from skillmake.agent.environments.qa import QaEnvironment
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import ConfigError

BUILT_IN = ("qa", "tree")


def make_environment(config: AgentConfig, videos: Path) -> Environment:
    """`qa`, `tree`, or what `package.module:factory` gives for the folder `videos`.

    Raises ConfigError for a name that does not exist, and for a factory that gives something else.
    """
    name = config.environment
    if name == "qa":
        return QaEnvironment(config)
    if name == "tree":
        from skillmake.agent.environments.tree import TreeEnvironment

        return TreeEnvironment(config, videos)
    module, _, factory = name.partition(":")
    if not factory:
        raise ConfigError(
            f"agent.environment: no environment {name!r}",
            f"use {', '.join(BUILT_IN)} or `package.module:factory` of your own",
        )
    try:
        made = getattr(import_module(module), factory)(videos)
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigError(f"agent.environment: cannot make {name!r}: {error}") from None
    if isinstance(made, Environment):
        return made
    raise ConfigError(f"agent.environment: {name!r} gives no object with `messages` and `open`")
