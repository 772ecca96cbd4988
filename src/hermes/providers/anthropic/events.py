"""The events of a streamed message on the wire, and the meaning of its counts.

Only what Hermes reads is declared; the decoder skips everything else.
"""

import msgspec

from hermes.message.reply import Usage
from hermes.ports.pricing import counted


class OutputDetails(msgspec.Struct, frozen=True):
    """The breakdown of the output."""

    thinking_tokens: int | None = None


class Counts(msgspec.Struct, frozen=True):
    """The service's counts: `input_tokens` are those that were not cached."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None

    def updated(self, later: "Counts") -> "Counts":
        """Return the counts after `later`, whose numbers are totals, not increments."""
        told = {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(later, name)) is not None
        }
        return msgspec.structs.replace(self, **told)

    def usage(self) -> Usage:
        """Return the usage: all input, whether cached or not."""
        read = counted(self.cache_read_input_tokens)
        written = counted(self.cache_creation_input_tokens)
        details = self.output_tokens_details
        return Usage(
            tokens_in=counted(self.input_tokens) + read + written,
            tokens_out=counted(self.output_tokens),
            cached_in=read,
            reasoning_out=counted(details.thinking_tokens if details else None),
            cache_written=written,
        )


class BlockStart(msgspec.Struct):
    """A content block as it begins; it may come complete."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")


class BlockDelta(msgspec.Struct):
    """What an event adds to a block or to the message."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None


class MessageStart(msgspec.Struct):
    """The message as it begins."""

    model: str | None = None
    usage: Counts | None = None


class StreamEvent(msgspec.Struct):
    """One event of the stream."""

    type: str
    index: int = 0
    message: MessageStart | None = None
    content_block: BlockStart | None = None
    delta: BlockDelta | None = None
    usage: Counts | None = None
    error: msgspec.Raw = msgspec.Raw(b"{}")


decode_event = msgspec.json.Decoder(StreamEvent).decode
