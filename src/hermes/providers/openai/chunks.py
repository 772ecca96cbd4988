"""The chunks of a streamed chat completion on the wire, with all their dialects.

Only what Hermes reads is declared; the decoder skips everything else in a chunk.
"""

from typing import Any

import msgspec


class Function(msgspec.Struct):
    """A piece of a function call."""

    name: str | None = None
    arguments: str | None = None


class CallPiece(msgspec.Struct):
    """A piece of a tool call; most services count them by `index`."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class ThoughtText(msgspec.Struct):
    """Text inside a block of thinking."""

    text: str | None = None


class ContentBlock(msgspec.Struct):
    """A block of content, if a service streams blocks instead of text."""

    text: str | None = None
    thinking: list[ThoughtText] | None = None


class Delta(msgspec.Struct):
    """What one chunk adds; `reasoning_details` are objects that go back unchanged."""

    content: str | list[ContentBlock] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    # Any: objects that the service defines.
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[CallPiece] | None = None


class Logprobs(msgspec.Struct):
    """The tokens of a chunk with their log probabilities, which are read only if asked for."""

    content: msgspec.Raw = msgspec.Raw()


class Choice(msgspec.Struct):
    """One of the answers; Hermes requests one."""

    delta: Delta | None = None
    finish_reason: str | None = None
    logprobs: Logprobs | None = None


class InDetails(msgspec.Struct):
    """More about the tokens read."""

    cached_tokens: int | None = None


class OutDetails(msgspec.Struct):
    """More about the tokens written."""

    reasoning_tokens: int | None = None


class WireUsage(msgspec.Struct):
    """Token counts; services use three different fields for cached tokens."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: InDetails | None = None
    completion_tokens_details: OutDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    cached_tokens: int | None = None

    @property
    def cached(self) -> int | None:
        """The tokens that came from the prompt cache."""
        details = self.prompt_tokens_details
        found = details.cached_tokens if details is not None else None
        return found or self.prompt_cache_hit_tokens or self.cached_tokens

    @property
    def reasoned(self) -> int | None:
        """The tokens that were spent on reasoning."""
        details = self.completion_tokens_details
        return details.reasoning_tokens if details is not None else None


class Chunk(msgspec.Struct):
    """One event of the stream."""

    choices: list[Choice] | None = None
    usage: WireUsage | None = None
    model: str | None = None
    error: msgspec.Raw = msgspec.Raw()


decode_chunk = msgspec.json.Decoder(Chunk).decode
