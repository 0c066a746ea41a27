"""The command line, called in process."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skillmake import cli


def run(*arguments: str | Path) -> str:
    """Output of a command that ends well."""
    done = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The message of a command that ends with a problem; nothing else is printed."""
    monkeypatch.setattr(sys, "argv", ["skillmake", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (1, "")
    assert err.startswith("skillmake: ")
    assert "Traceback" not in err
    return err
