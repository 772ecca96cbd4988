"""Checks the answer to an embedding call before any of its vectors is used: pure."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.message.reply import Usage
from hermes.ports.pricing import counted, estimated
from hermes.ports.provider import EmbedInput
from hermes.provider_kit.service_failure import unusable
from hermes.provider_kit.settings import WireSettings

MAX_EMBEDDING_BYTES = 268_435_456

Answer = TypeVar("Answer")


def decode_embedding(
    answer: bytes, settings: WireSettings, *, decode: Callable[[bytes], Answer]
) -> Answer:
    """Return the decoded answer; raise a `ProviderError` if it has another form."""
    try:
        return decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unusable(
            settings.name,
            answer,
            found="something else",
            expected="a list of embeddings",
            secret=settings.secret,
        ) from error


def check_vectors(
    vectors: Sequence[Sequence[float]], settings: WireSettings, *, expected: int
) -> None:
    """Raise `ProviderUnavailable` unless there are `expected` vectors, all with numbers."""
    who = f"{settings.name}: the {settings.SERVICE}"
    if len(vectors) != expected:
        raise ProviderUnavailable(
            f"{who} returned {len(vectors)} embeddings, expected {expected}: one for each text"
        )
    if not all(vectors):
        raise ProviderUnavailable(f"{who} returned an embedding without numbers; none is used")


def embedding_usage(told: int | None, inputs: Sequence[EmbedInput]) -> Usage:
    """Return the token count of the service, or an estimate from the size of the inputs."""
    if told is not None:
        return Usage(tokens_in=counted(told))
    chars = sum(len(one) for one in inputs if isinstance(one, str))
    tokens = sum(len(one) for one in inputs if not isinstance(one, str))
    return Usage(tokens_in=tokens + estimated(chars))


def only_texts(inputs: Sequence[EmbedInput], settings: WireSettings) -> tuple[str, ...]:
    """Return the inputs as texts; raise `ProviderRejected` if some are token numbers."""
    texts = tuple(one for one in inputs if isinstance(one, str))
    if len(texts) != len(inputs):
        raise ProviderRejected(
            f"{settings.name}: the {settings.SERVICE} embeds text only, and the input holds token "
            "numbers; send text"
        )
    return texts
