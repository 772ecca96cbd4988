"""What a call took, by the service's own counts: all input, whatever the prompt cache did with it."""

import msgspec

from hermes.message.reply import Usage
from hermes.ports.pricing import counted


class OutputDetails(msgspec.Struct, frozen=True):
    """What the output consists of."""

    thinking_tokens: int | None = None


class Counts(msgspec.Struct, frozen=True):
    """The service's counts: `input_tokens` are those that no cache knows."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None

    def updated(self, later: "Counts") -> "Counts":
        """Return the counts after `later`, whose numbers are totals and not additions."""
        told = {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(later, name)) is not None
        }
        return msgspec.structs.replace(self, **told)


def measured(counts: Counts) -> Usage:
    """Return the usage that the service counted."""
    read = counted(counts.cache_read_input_tokens)
    written = counted(counts.cache_creation_input_tokens)
    details = counts.output_tokens_details
    return Usage(
        tokens_in=counted(counts.input_tokens) + read + written,
        tokens_out=counted(counts.output_tokens),
        cached_in=read,
        reasoning_out=counted(details.thinking_tokens if details else None),
        cache_written=written,
    )
