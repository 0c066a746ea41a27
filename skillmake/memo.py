"""Step memo: what a rule made from the same content before is not made again (DESIGN §4.5)."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillmake.errors import notice
from skillmake.files import STAMP_KEYS, canonical_line, sha256, write_text


def default_cache_dir() -> Path:
    """Where calls and step results are kept: $SKILLMAKE_CACHE, else the user's cache directory."""
    chosen = os.environ.get("SKILLMAKE_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("skillmake")


def payload_digest(path: Path) -> str:
    """Digest of a file's content; of a JSON artefact without its lineage stamp.

    So a step whose inputs were re-made with the same content is found again.
    """
    data = path.read_bytes()
    if path.suffix != ".json":
        return sha256(data)
    try:
        value = json.loads(data)
        if isinstance(value, dict):
            return sha256(canonical_line({key: part for key, part in value.items() if key not in STAMP_KEYS}))
    except (ValueError, RecursionError):
        pass  # no artefact can be like this: whose file it is, is for the rule that reads it to say
    return sha256(data)


class Memo:
    """Outputs (texts by output name) under `root`, by key; a damaged entry is told and counts as missing."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def _path(self, key: str) -> Path:
        return self._root / "steps" / key[:2] / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        path = self._path(key)
        try:
            entry = json.loads(path.read_bytes())
            outputs: dict[str, Any] = entry["outputs"]
            if entry["digest"] != sha256(canonical_line(outputs)):
                raise ValueError("digest")
            return outputs
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            notice(f"{path}: this step result was damaged; the step is made again")
            return None

    def put(self, key: str, outputs: Mapping[str, Any]) -> None:
        plain = dict(outputs)
        write_text(
            self._path(key),
            canonical_line({"outputs": plain, "digest": sha256(canonical_line(plain))}) + "\n",
        )
