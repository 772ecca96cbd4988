"""Ollama's shorter answers: which models are there, and the vectors of some texts; pure."""

import msgspec

from hermes.errors import ProviderUnavailable
from hermes.message.reply import Usage
from hermes.ports.pricing import counted, estimated
from hermes.ports.provider import Embedding
from hermes.provider_kit.service_failure import unusable
from hermes.providers.ollama.settings import OllamaSettings


class _Model(msgspec.Struct):
    name: str


class _Tags(msgspec.Struct):
    models: list[_Model] | None = None


class _Vectors(msgspec.Struct):
    embeddings: tuple[tuple[float, ...], ...]
    model: str | None = None
    prompt_eval_count: int | None = None


def read_tags(answer: bytes) -> tuple[str, ...]:
    """Return the names of the models that are there; none when the answer is no list of them."""
    try:
        found = msgspec.json.decode(answer, type=_Tags)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    return tuple(model.name for model in found.models or ())


def read_embedding(
    answer: bytes, settings: OllamaSettings, *, texts: tuple[str, ...], model: str
) -> Embedding:
    """Return the vectors in the order of `texts`; raise when there is not one for each."""
    try:
        found = msgspec.json.decode(answer, type=_Vectors)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unusable(
            settings.name,
            answer,
            found="something else",
            expected="a list of embeddings",
            secret=settings.api_key,
        ) from error
    if len(found.embeddings) != len(texts):
        raise ProviderUnavailable(
            f"{settings.name}: the server answered {len(found.embeddings)} embeddings, expected"
            f" {len(texts)}: one for each text"
        )
    if not all(found.embeddings):
        raise ProviderUnavailable(
            f"{settings.name}: the server answered an embedding without numbers; none is used"
        )
    told = found.prompt_eval_count
    tokens = estimated(sum(map(len, texts))) if told is None else counted(told)
    return Embedding(found.embeddings, Usage(tokens_in=tokens), found.model or model)
