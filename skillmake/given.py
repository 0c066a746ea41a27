"""JSON files that a user gives: their mistakes are the user's to correct, and no artefact's to make again."""

from pathlib import Path
from typing import Any

from skillmake.errors import DataError
from skillmake.questions import parse_json


def read_given(path: Path) -> Any:
    """The document in a file; DataError says what is wrong with it.

    NaN and infinite numbers are read, so that who checks the value can say where they are.
    """
    try:
        return parse_json(path.read_bytes().decode("utf-8-sig"), finite=False)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}", "save the file as UTF-8") from None
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}", "correct the file") from None
