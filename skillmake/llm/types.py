"""What goes to a model and what comes back, whatever the provider."""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["student", "teacher", "judge", "vision"]
Message = dict[str, Any]


@dataclass(frozen=True)
class ChatRequest:
    """One chat completion.

    `choices`: the answer must be one of these texts, where the endpoint can be held to that.
    `schema`: the answer must be JSON of this schema, where the endpoint can be held to that.
    `replicate`: number of the draw at temperature > 0; each has its own cache key.
    `shared`: other requests begin with this many of the messages, so they may be kept ready; None: all but
    the last.
    """

    messages: tuple[Message, ...]
    temperature: float = 0.0
    max_tokens: int = 256
    choices: tuple[str, ...] | None = None
    schema: dict[str, Any] | None = None
    tools: tuple[dict[str, Any], ...] = ()
    replicate: int = 0
    shared: int | None = None

    @property
    def pictures(self) -> tuple[str, ...]:
        """URLs of the image parts of all messages, in order; one without a URL is empty."""
        contents = [message.get("content") for message in self.messages]
        parts = [part for content in contents if isinstance(content, list) for part in content]
        images = [p.get("image_url") for p in parts if isinstance(p, dict) and p.get("type") == "image_url"]
        return tuple(str(image.get("url", "")) if isinstance(image, dict) else "" for image in images)


@dataclass(frozen=True)
class ChatResponse:
    """The model's answer with its usage in tokens.

    `finish`: `stop`, `length`, `tool_calls` or `content_filter`, as OpenAI names them.
    """

    text: str
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tool_calls: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class CallError:
    """A call that failed for good: the third value, neither right nor wrong."""

    reason: str


@dataclass(frozen=True)
class Reply:
    """Outcome of a call: its cache key, and the response or the error."""

    key: str
    outcome: ChatResponse | CallError
    cached: bool = field(default=False, compare=False)

    @property
    def response(self) -> ChatResponse | None:
        return self.outcome if isinstance(self.outcome, ChatResponse) else None


class CallFailure(Exception):  # noqa: N818 - CallError is the value it becomes
    """Raised by a provider. `retryable`: another try may work (429, 5xx, timeout, cut connection).
    `fatal`: no call will ever work (wrong key, wrong model), so the job must stop, after the tries if it is
    retryable as well. `retry_after`: seconds the endpoint asked us to wait. `hint`: what to do about it.
    `asks_too_much`: the endpoint does not take the request as it is; one that asks for less may work."""

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool = False,
        fatal: bool = False,
        retry_after: float | None = None,
        hint: str = "",
        asks_too_much: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason, self.retryable, self.fatal, self.retry_after = reason, retryable, fatal, retry_after
        self.hint, self.asks_too_much = hint, asks_too_much


class Provider(Protocol):
    """A place that answers chat requests. `identity` is hashed into every cache key: what must differ
    when the answers may differ (provider kind, model, world), and never an address or a key."""

    @property
    def identity(self) -> dict[str, Any]: ...

    async def open(self) -> None:
        """What must be there before a call is sent: nothing, unless a provider says otherwise.

        Called before each, and takes no slot of the run.
        """
        return

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer, or raise CallFailure."""
        ...

    async def close(self) -> None: ...
