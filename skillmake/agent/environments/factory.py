"""The environment that `agent.environment` names."""

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
    if all(name.partition(":")):
        from skillmake.agent.environments.own import own_environment

        return own_environment(name, videos)
    raise ConfigError(
        f"agent.environment: no environment {name!r}",
        f"use {', '.join(BUILT_IN)} or `package.module:factory` of your own",
    )
