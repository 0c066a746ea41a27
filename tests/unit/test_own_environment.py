"""An environment of the user's own whose code is wrong: a message that says where, and never a traceback."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.notebook import Notebook
from skillmake.agent.environments.base import Environment, ToolResult
from skillmake.agent.environments.factory import make_environment
from skillmake.agent.environments.files import looked_up_files
from skillmake.config.models import Agent as AgentConfig
from skillmake.errors import ConfigError, DataError
from skillmake.questions import Question
from tests.playing import LOOK, PAGES, told
from tests.scripted import Scripted, agent, calls, says, texts
from tests.worlds import question


def raises(folder: Path) -> Environment:
    raise ValueError(f"nothing in {folder.name}")


def refuses(folder: Path) -> Environment:
    raise DataError(f"nothing in {folder.name}", "give notes")


def made_by(name: str, folder: Path) -> Environment:
    return make_environment(AgentConfig(environment=name), folder)


def test_a_factory_that_fails_is_named_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        made_by(f"{__name__}:raises", tmp_path)
    message, hint = str(caught.value).split("\n")
    cause = f"ValueError: nothing in {tmp_path.name}"
    assert message == f"agent.environment: cannot make '{__name__}:raises': {cause}"
    assert hint.startswith(f"  → see {__file__}, line ")


def test_a_factorys_own_message_is_shown_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^nothing in {tmp_path.name}\n  → give notes"):
        made_by(f"{__name__}:refuses", tmp_path)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("def make(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import no_such_module", "ModuleNotFound"),
    ],
)
def test_a_module_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, problem: str
) -> None:
    folder = tmp_path / problem.lower()  # modules are kept by name
    folder.mkdir()
    (folder / "__init__.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=f"cannot make '{folder.name}.inner:make': {problem}"):
        made_by(f"{folder.name}.inner:make", tmp_path)
    # Snakemake asks this while it reads its rules
    assert looked_up_files(f"{folder.name}.inner:make", str(tmp_path / "none")) == []


def test_modules_that_it_imports_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed helper changes what tools give, so the rules must see it."""
    files = {
        "films/__init__.py": "",
        "films/base.py": "import json, films.more, skillmake.errors",
        "films/make.py": "from . import base\nfrom .sub import pages\nimport tools_of_mine",
        "films/sub/pages.py": "from ..base import x",
        "films/more.py": "from films.base import *",
        "films/unused.py": "",
        "tools_of_mine.py": "def broken(:",
    }
    for name, code in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    used = sorted(name for name in files if name != "films/unused.py")
    assert looked_up_files("films.make:make", "none") == used


@pytest.mark.parametrize("name", [":make", "..x:make", "examples.notebook:", "x y:make"])
def test_names_that_are_no_import_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"^agent\.environment: "):
        made_by(name, tmp_path)
    assert looked_up_files(name, str(tmp_path)) == []


@dataclass(frozen=True)
class Odd:
    """A context whose parts are given one by one."""

    tools: Any = ()
    digest: Any = ""
    evidence: Any = ()


@dataclass(frozen=True)
class Odds:
    """An environment that gives what it was given; an exception is raised."""

    context: Any = None
    first: Any = None

    def messages(self, question: Question, system: str, skill: str) -> Any:  # noqa: ARG002 - the protocol's
        return _given(self.first)

    def open(self, question: Question) -> Any:  # noqa: ARG002 - the protocol's signature
        return _given(self.context)


def _given(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value


def odd(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> Environment:
    monkeypatch.setattr("examples.notebook.make", lambda _: Odds(**parts))
    return made_by("examples.notebook:make", Path())


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        (KeyError("u1"), "KeyError: 'u1'"),
        (None, "AttributeError: 'NoneType' object has no attribute 'tools'"),
        (Odd(tools=None), "tools must be a tuple of Tool"),
        (Odd(tools=({"name": "look"},)), "tools must be a tuple of Tool"),
        (Odd(digest=None), "digest must be a text"),
        (Odd(evidence=None), "evidence must be a tuple of node ids"),
        (Odd(evidence=(1,)), "evidence must be a tuple of node ids"),
        (Odd(evidence="n1"), "evidence must be a tuple of node ids"),
    ],
)
def test_a_context_that_is_none(monkeypatch: pytest.MonkeyPatch, context: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        odd(monkeypatch, context=context).open(question("u1"))
    assert str(caught.value).startswith("agent.environment: examples.notebook:make: context of question u1: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("first", [ValueError("boom"), None, "Answer.", ("Answer.",)])
def test_messages_that_are_none(monkeypatch: pytest.MonkeyPatch, first: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"messages of question u1: (ValueError: boom|.*must be a tuple of)"
    ):
        odd(monkeypatch, first=first).messages(question("u1"), "S", "")


@dataclass(frozen=True)
class Gives(Notebook):
    """A tool that gives whatever it was given."""

    result: Any = None

    def call(self, tool: str, arguments: Any) -> Any:  # noqa: ARG002 - the protocol's signature
        return self.result


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "it gave NoneType, not a ToolResult"),
        ("a text", "it gave str, not a ToolResult"),
        (ToolResult(5), "must be a text and tuples of texts"),  # type: ignore[arg-type]
        (ToolResult("a", nodes="u1"), "must be a text and tuples of texts"),  # type: ignore[arg-type]
        (ToolResult("a", nodes=(1,)), "must be a text and tuples of texts"),  # type: ignore[arg-type]
        (ToolResult("a", images=(b"x",)), "must be a text and tuples of texts"),  # type: ignore[arg-type]
        (ToolResult("a\ud800"), "surrogates not allowed"),
    ],
)
def test_a_tool_that_gives_no_result_is_an_error_in_the_trace(
    tmp_path: Path, result: Any, problem: str
) -> None:
    student = Scripted(calls(LOOK), says("yes"))
    (row,) = agent(student, tmp_path, Gives(PAGES, result=result)).run([question("u1")], texts())
    assert (row.steps[0].outcome, row.right) == ("error", True)
    assert told(student)[0].startswith("Error: the tool failed: ")
    assert problem in told(student)[0]
