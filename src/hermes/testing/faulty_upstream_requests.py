"""Finds a request's dialect, and checks whether the real service would accept it.

Used by the faulty upstream: a fault proves nothing about a call that no service would have
answered, so every request is first checked against the strict shapes.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from hermes.testing import (
    anthropic_shape,
    gemini_rules,
    gemini_shape,
    ollama_shape,
    openai_shape,
    responses_shape,
)
from hermes.testing.faulty_upstream_answers import Answer, Dialect, embedded, streamed
from hermes.testing.scripted_http import ReceivedRequest

_GEMINI = re.compile(r"/v1beta/(models/([\w.-]+)):(streamGenerateContent\?alt=sse|batchEmbed\w+)")
_GEMINI_KEY = "x-goog-api-key"
_ANTHROPIC_KEY = "x-api-key"
_SHAPES = (
    anthropic_shape.ShapeError,
    gemini_shape.ShapeError,
    ollama_shape.ShapeError,
    openai_shape.ShapeError,
    responses_shape.ShapeError,
)


class NotAsked(Exception):
    """No service would answer this request; the text says why."""


class _Vectors(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    input: list[str]
    encoding_format: str


class _Route(msgspec.Struct, frozen=True):
    """A path: its dialect, its answer, and the parser of its requests."""

    dialect: Dialect
    answer: Callable[[Dialect], Answer]
    # Any: the parsed body; only whether it can be parsed matters.
    read: Callable[[bytes], Any]


def answer_to(received: ReceivedRequest) -> Answer:
    """Return the good answer to a request; raise `NotAsked` if no service would give it."""
    route = _route(received)
    if received.method != "POST" or route is None:
        raise NotAsked(f"nobody serves {received.method} {received.path}")
    if received.headers.get("content-type") != "application/json":
        raise NotAsked("the content type is not JSON")
    if not key_of(received):
        raise NotAsked("no key was sent")
    try:
        route.read(received.body)
    except (*_SHAPES, msgspec.DecodeError) as error:
        raise NotAsked(f"{received.path}: {error}") from error
    return route.answer(route.dialect)


def key_of(received: ReceivedRequest) -> str:
    """Return the key in a request."""
    headers = received.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get(_GEMINI_KEY) or headers.get(_ANTHROPIC_KEY) or bearer


def _route(received: ReceivedRequest) -> _Route | None:
    called = _GEMINI.fullmatch(received.path)
    if called is not None:
        return _gemini(called[1], called[2], is_embedding=called[3] == "batchEmbedContents")
    return _ROUTES.get(received.path)


def _gemini(resource: str, model: str, *, is_embedding: bool) -> _Route:
    def read(body: bytes) -> None:
        gemini_rules.check_generate(gemini_shape.read_generate(body), model)

    def read_embed(body: bytes) -> None:
        gemini_rules.check_embed(gemini_shape.read_embed(body), resource)

    return (
        _Route("gemini", embedded, read_embed) if is_embedding else _Route("gemini", streamed, read)
    )


_ROUTES: dict[str, _Route] = {
    "/v1/chat/completions": _Route("openai", streamed, openai_shape.read_request),
    "/v1/embeddings": _Route("openai", embedded, msgspec.json.Decoder(_Vectors).decode),
    "/v1/responses": _Route("openai_responses", streamed, responses_shape.read_request),
    "/v1/messages": _Route("anthropic", streamed, anthropic_shape.read_request),
    "/api/chat": _Route("ollama", streamed, ollama_shape.read_chat),
    "/api/embed": _Route("ollama", embedded, ollama_shape.read_embed),
}
