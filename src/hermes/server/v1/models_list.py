"""`/v1/models`: the same list in OpenAI's and in Anthropic's shape. Pure.

Both clients ask at the same address; Anthropic's are recognised by a header that all of them send.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from hermes.errors import BadRequest, NotFound

# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_PAGE = 20
_LARGEST_PAGE = 1000


class ListedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that may be called; `created` is in seconds since 1970, 0 if unknown."""

    id: str
    owner: str
    created: int = 0
    display_name: str = ""
    context_tokens: int = 0


def speaks_anthropic(headers: Mapping[str, str]) -> bool:
    """Return whether one of Anthropic's clients asks; header names are in lower case."""
    return "anthropic-version" in headers


def write_models(
    models: Sequence[ListedModel], headers: Mapping[str, str], *, query: Mapping[str, str]
) -> bytes:
    """Return the list in the shape that the caller's client expects; raise `BadRequest`."""
    if not speaks_anthropic(headers):
        return _encode({"object": "list", "data": [_openai(model) for model in models]})
    page, more = _page(models, query)
    return _encode(
        {
            "data": [_anthropic(model) for model in page],
            "has_more": more,
            "first_id": page[0].id if page else None,
            "last_id": page[-1].id if page else None,
        }
    )


def write_model(
    models: Sequence[ListedModel], headers: Mapping[str, str], *, model_id: str
) -> bytes:
    """Return one model of the list; raises `NotFound`."""
    found = next((model for model in models if model.id == model_id), None)
    if found is None:
        raise NotFound(f"There is no model {model_id[:80]!r}: GET /v1/models lists the models.")
    return _encode(_anthropic(found) if speaks_anthropic(headers) else _openai(found))


def _openai(model: ListedModel) -> Json:
    told: Json = {
        "id": model.id,
        "object": "model",
        "created": model.created,
        "owned_by": model.owner,
    }
    # Not OpenAI's fields; clients of local servers and of OpenRouter look for them.
    if model.display_name:
        told["name"] = model.display_name
    if model.context_tokens:
        told["context_length"] = model.context_tokens
    return told


def _anthropic(model: ListedModel) -> Json:
    created = datetime.fromtimestamp(model.created, UTC)
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.display_name or model.id,
        "created_at": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lifecycle": "active",
        "max_input_tokens": model.context_tokens or None,
        "max_tokens": None,
        "capabilities": None,
    }


def _page(
    models: Sequence[ListedModel], query: Mapping[str, str]
) -> tuple[Sequence[ListedModel], bool]:
    """Return the requested page, and whether there is more in its direction."""
    limit = _limit(query.get("limit"))
    if "before_id" in query:
        end = _place(models, query["before_id"], name="before_id")
        start = max(0, end - limit)
        return models[start:end], start > 0
    start = _place(models, query["after_id"], name="after_id") + 1 if "after_id" in query else 0
    return models[start : start + limit], start + limit < len(models)


def _limit(text: str | None) -> int:
    if text is None:
        return _PAGE
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_LARGEST_PAGE))
    if is_number and 1 <= int(text) <= _LARGEST_PAGE:
        return int(text)
    raise BadRequest(
        f"limit is {text[:80]!r}: expected a number from 1 to {_LARGEST_PAGE}; send one or leave it"
        " out."
    )


def _place(models: Sequence[ListedModel], model_id: str, *, name: str) -> int:
    for place, model in enumerate(models):
        if model.id == model_id:
            return place
    raise BadRequest(
        f"{name} is {model_id[:80]!r}, which is not a model here: use an id from the previous page."
    )
