"""Parameters: one checked model per section, friendly errors, generated defaults and schema."""

from skillmake.config.load import granted, hashed_part, load_config, parse_config
from skillmake.config.models import Config

__all__ = ["Config", "granted", "hashed_part", "load_config", "parse_config"]
