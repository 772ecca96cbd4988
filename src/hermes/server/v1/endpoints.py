"""The endpoints of `/v1` for OpenAPI; imported only on demand.

Answers have the shape of the service that an endpoint imitates; that service's own documents
describe it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from hermes.ports.gateway_api import ApiEndpoint
from hermes.server.v1.chat_shape import ChatBody
from hermes.server.v1.completions import CompletionsBody
from hermes.server.v1.embeddings import EmbeddingsBody
from hermes.server.v1.messages_shape import MessagesBody
from hermes.server.v1.responses_shape import ResponsesBody

# Any: JSON whose fields another service's documents name.
_Json = Mapping[str, Any]


def _endpoint(
    name: str,
    path: str,
    *,
    summary: str,
    method: Literal["GET", "POST", "DELETE"] = "POST",
    # Any: the type of the body.
    request: Any = None,
    streams: bool = False,
    query: Mapping[str, str] | None = None,
) -> ApiEndpoint:
    return ApiEndpoint(
        name=f"v1.{name}",
        method=method,
        path=f"/v1/{path}",
        group="Model APIs",
        summary=summary,
        request=request,
        report=_Json,
        streams=streams,
        is_bearer_only=True,
        query=query or {},
    )


ENDPOINTS: Final = (
    _endpoint(
        "chat",
        "chat/completions",
        request=ChatBody,
        streams=True,
        summary="Complete a chat, as OpenAI's Chat Completions API does.",
    ),
    _endpoint(
        "completions",
        "completions",
        request=CompletionsBody,
        streams=True,
        summary="Answer a prompt, as OpenAI's legacy Completions API does.",
    ),
    _endpoint(
        "responses",
        "responses",
        request=ResponsesBody,
        streams=True,
        summary="Create a response, as OpenAI's Responses API does.",
    ),
    _endpoint(
        "response",
        "responses/{id}",
        method="GET",
        summary="Return a stored response of the caller's key.",
    ),
    _endpoint(
        "delete_response",
        "responses/{id}",
        method="DELETE",
        summary="Delete a stored response of the caller's key.",
    ),
    _endpoint(
        "input_items",
        "responses/{id}/input_items",
        method="GET",
        query={
            "limit": "the maximum number of items to return, from 1 to 100",
            "order": "`desc` (the newest first) or `asc`",
            "after": "only items after the one with this id",
        },
        summary="List the items that a stored response answers.",
    ),
    _endpoint(
        "messages",
        "messages",
        request=MessagesBody,
        streams=True,
        summary="Create a message, as Anthropic's Messages API does.",
    ),
    _endpoint(
        "count_tokens",
        "messages/count_tokens",
        request=MessagesBody,
        summary="Count the tokens of a request to the Messages API.",
    ),
    _endpoint(
        "embeddings",
        "embeddings",
        request=EmbeddingsBody,
        summary="Return the embeddings of texts, as OpenAI's API does.",
    ),
    _endpoint(
        "models",
        "models",
        method="GET",
        summary="List the models that the caller may use, in OpenAI's or Anthropic's shape.",
    ),
    _endpoint(
        "model", "models/{id}", method="GET", summary="Return one of these models by its id."
    ),
)


def v1_endpoints() -> Sequence[ApiEndpoint]:
    """Return the endpoints under `/v1`, for OpenAPI."""
    return ENDPOINTS
