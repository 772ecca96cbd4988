"""What a call took, by the service's own counts: all input, cached or not, and the money for it."""

import msgspec

from hermes.message.reply import Usage
from hermes.ports.pricing import counted, estimated
from hermes.providers.anthropic.settings import AnthropicSettings

_COST_DIGITS = 9
_READ_SHARE = 0.1
_WRITE_SHARE = 1.25


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


def measured(counts: Counts, settings: AnthropicSettings) -> Usage:
    """Return the usage that the service counted."""
    fresh, out = counted(counts.input_tokens), counted(counts.output_tokens)
    read = counted(counts.cache_read_input_tokens)
    written = counted(counts.cache_creation_input_tokens)
    details = counts.output_tokens_details
    cost = (
        fresh * settings.price_in_per_million
        + read * _price(settings.price_cached_per_million, settings, share=_READ_SHARE)
        + written * _price(settings.price_cache_write_per_million, settings, share=_WRITE_SHARE)
        + out * settings.price_out_per_million
    ) / 1_000_000
    return Usage(
        fresh + read + written,
        out,
        read,
        counted(details.thinking_tokens if details else None),
        round(cost, _COST_DIGITS),
    )


def guessed(sent_chars: int, written_chars: int, *, settings: AnthropicSettings) -> Usage:
    """Return a guess: a server that counts nothing must not make budgets believe it is free."""
    return measured(
        Counts(
            input_tokens=estimated(sent_chars),
            output_tokens=estimated(written_chars),
        ),
        settings,
    )


def _price(own: float | None, settings: AnthropicSettings, *, share: float) -> float:
    return settings.price_in_per_million * share if own is None else own
