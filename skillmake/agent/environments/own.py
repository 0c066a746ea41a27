"""An environment of the user's own: what goes wrong in its code is told as what and where."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from traceback import extract_tb

from skillmake.agent.environments.base import Context, Environment, Tool, are_texts
from skillmake.agent.toolcalls import check_tools
from skillmake.errors import ConfigError, SkillmakeError
from skillmake.llm.types import Message
from skillmake.questions import Question


@dataclass(frozen=True)
class OwnEnvironment:
    """The environment `name`; what it gives is checked, for it would else fail far from its cause."""

    name: str
    inner: Environment

    def messages(self, question: Question, system: str, skill: str) -> tuple[Message, ...]:
        with _blamed(f"{self.name}: messages of question {question.question_id}"):
            found: object = self.inner.messages(question, system, skill)
            if isinstance(found, (tuple, list)) and all(isinstance(one, dict) for one in found):
                return tuple(found)
            raise TypeError(f"must be a tuple of messages, not {type(found).__name__}")

    def open(self, question: Question) -> Context:
        with _blamed(f"{self.name}: context of question {question.question_id}"):
            context = self.inner.open(question)
            tools: object = context.tools
            if not isinstance(tools, (tuple, list)) or not all(isinstance(tool, Tool) for tool in tools):
                raise TypeError("tools must be a tuple of Tool")
            check_tools(context.tools)
            # Else outcomes of other data would be taken for those of today's
            if not isinstance(context.digest, str):
                raise TypeError("digest must be a text")
            if not are_texts(context.evidence):
                raise TypeError("evidence must be a tuple of node ids, which are texts")
        return context


def own_environment(name: str, folder: Path) -> OwnEnvironment:
    """What the factory `package.module:factory` gives for the folder; ConfigError for what is none."""
    module, _, factory = name.partition(":")
    with _blamed(f"cannot make {name!r}"):
        made = getattr(import_module(module), factory)(folder)
    if isinstance(made, Environment):
        return OwnEnvironment(name, made)
    raise ConfigError(f"agent.environment: {name!r} gives no object with `messages` and `open`")


@contextmanager
def _blamed(what: str) -> Iterator[None]:
    try:
        yield
    except SkillmakeError:
        raise
    except Exception as error:  # the user's code: anything may come out of it
        passed_by = (__file__, import_module.__code__.co_filename)
        places = [place for place in extract_tb(error.__traceback__) if place.filename not in passed_by]
        files = [place for place in places if Path(place.filename).is_file()]
        raise ConfigError(
            f"agent.environment: {what}: {type(error).__name__}: {error}",
            f"see {files[-1].filename}, line {files[-1].lineno}" if files else "",
        ) from None
