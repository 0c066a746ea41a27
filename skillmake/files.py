"""Files of a run: canonical bytes, digests, atomic writes; without heavy imports, which rules need not."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from skillmake.errors import DataError, storing

DIGEST_LENGTH = 12
STAMP_KEYS = ("derived_from", "made_by")


def canonical(value: Any) -> str:
    """The one JSON text of `value`: sorted keys, readable indent, newline at the end."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def canonical_line(value: Any) -> str:
    """The one-line JSON text of `value`, for JSONL rows and for digests."""
    return json.dumps(
        _plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def sha256(data: str | bytes) -> str:
    """Hex sha256 of a text (as UTF-8) or of bytes."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def digest(value: Any) -> str:
    """Short content digest of any JSON-like value or model; equal content, equal digest."""
    return sha256(canonical_line(value))[:DIGEST_LENGTH]


def write_text(path: str | Path, text: str) -> None:
    """Write atomically (temp file in the same directory, then rename), making the directory.

    Raises StorageError when the file system does not take it; then nothing has changed.
    """
    target = Path(path)
    with storing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            Path(name).chmod(0o644)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_jsonl(path: str | Path, rows: Iterable[Any]) -> None:
    """Write one canonical JSON line per row, in the order given."""
    write_text(path, "".join(canonical_line(row) + "\n" for row in rows))


def json_lines(text: str) -> list[str]:
    """Lines of a JSONL text. Only a line feed ends one: a model may write U+2028 or U+0085 inside."""
    return [line for line in text.split("\n") if line]


def read_json(path: str | Path) -> Any:
    """Read one JSON document; raises DataError with file and position when it is not one."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path}: not valid JSON: {error}", "delete the file and run again") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(part) for part in value)
    return value
