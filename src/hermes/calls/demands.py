"""Which options a request cannot do without. Pure.

A demand changes what the answer is, so only a model that has it may answer. A hint (strict tools,
verbosity, a reasoning summary, no reasoning, a prediction) does not: it is passed on where the service has it,
and the answer says where it had no effect. Clients send hints with every request, unasked.
"""

from collections.abc import Iterator

from hermes.message.inline_file import inline_file
from hermes.message.parts import AudioPart, FilePart, ImagePart
from hermes.ports.options import Extras, Option
from hermes.ports.provider import ModelRequest


def demands_of(
    request: ModelRequest, *, has_files: bool, fetches: bool = True
) -> tuple[Option, ...]:
    """Return the options that the answer to a request depends on; nearly always none.

    `fetches` says that Hermes may fetch pictures for a service that does not.
    """
    if request.seed is None and request.extras is None and not has_files:
        return ()
    found: list[Option] = []
    if request.seed is not None:
        found.append("seed")
    if request.extras is not None:
        found += _of_extras(request.extras)
    if has_files:
        found += _of_files(request, fetches=fetches)
    return tuple(dict.fromkeys(found))


def _of_extras(extras: Extras) -> Iterator[Option]:
    if extras.frequency_penalty is not None:
        yield "frequency_penalty"
    if extras.presence_penalty is not None:
        yield "presence_penalty"
    if extras.logit_bias is not None:
        yield "logit_bias"
    if extras.top_logprobs is not None:
        yield "logprobs"
    if extras.top_k is not None:
        yield "top_k"
    if extras.min_p is not None:
        yield "min_p"


def _of_files(request: ModelRequest, *, fetches: bool) -> Iterator[Option]:
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, ImagePart):
                if not fetches and part.media.url and inline_file(part.media) is None:
                    yield "image_address"
            elif isinstance(part, FilePart) and part.media.url is not None:
                yield "pdf_address" if inline_file(part.media) is None else "pdf"
            elif isinstance(part, AudioPart) and part.media.url is not None:
                yield "audio"
