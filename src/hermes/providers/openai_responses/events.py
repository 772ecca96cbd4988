"""The events of a streamed Responses call on the wire.

Only what Hermes reads is declared; the decoder skips everything else.
"""

import msgspec


class Content(msgspec.Struct):
    """A piece of a message: its text, or its refusal."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None


class Item(msgspec.Struct):
    """An output item: a message, a function call, or reasoning."""

    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    content: list[Content] | None = None
    summary: list[Content] | None = None
    encrypted_content: str | None = None


class InDetails(msgspec.Struct):
    """More about the tokens read."""

    cached_tokens: int | None = None


class OutDetails(msgspec.Struct):
    """More about the tokens written."""

    reasoning_tokens: int | None = None


class WireUsage(msgspec.Struct):
    """Token counts."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: InDetails | None = None
    output_tokens_details: OutDetails | None = None


class Problem(msgspec.Struct):
    """Why a response failed."""

    code: str | None = None
    message: str | None = None


class Incomplete(msgspec.Struct):
    """Why a response is not complete."""

    reason: str | None = None


class WireResponse(msgspec.Struct):
    """The response itself, which the first and the last events carry."""

    model: str | None = None
    output: list[Item] | None = None
    usage: WireUsage | None = None
    error: Problem | None = None
    incomplete_details: Incomplete | None = None


class Event(msgspec.Struct):
    """One event of the stream."""

    type: str = ""
    sequence_number: int = 0
    delta: str | None = None
    output_index: int = 0
    item: Item | None = None
    response: WireResponse | None = None
    code: str | None = None
    message: str | None = None
    error: Problem | None = None
    logprobs: msgspec.Raw = msgspec.Raw()


decode_event = msgspec.json.Decoder(Event).decode
