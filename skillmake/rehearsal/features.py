"""Parts of the OpenAI API that an endpoint may lack."""

from collections.abc import Mapping
from typing import Any, Literal

from skillmake.rehearsal.students import content
from skillmake.rehearsal.wire import ApiError, ChatBody

Feature = Literal["schema", "tools", "images"]
Lack = Literal["refuses", "ignores"]


def understood(body: ChatBody, lacks: Mapping[Feature, Lack]) -> ChatBody:
    """The request as an endpoint reads it that ignores some features; ApiError 400 for one it refuses."""
    texts = [{**message, "content": content(message)} for message in body.messages]
    used: dict[Feature, bool] = {
        "schema": body.response_format is not None,
        "tools": bool(body.tools),
        "images": bool(body.request().pictures),
    }
    without: dict[Feature, dict[str, Any]] = {
        "schema": {"response_format": None},
        "tools": {"tools": None},
        "images": {"messages": texts},
    }
    for feature, how in lacks.items():
        if used[feature] and how == "refuses":
            raise ApiError(400, f"{feature}: not supported by this model.", "invalid_request_error", None)
        if used[feature]:
            body = body.model_copy(update=without[feature])
    return body
