"""Which options a request cannot do without. Pure.

A demand changes what the answer is, so only a model that has it may answer. A hint (strict tools,
verbosity, a reasoning summary, no reasoning, a prediction) does not: it is passed on where the service has it,
and the answer says where it had no effect. Clients send hints with every request, unasked.
"""

from collections.abc import Iterator

from hermes.message.chat import ChatMessage
from hermes.message.inline_file import inline_file
from hermes.message.parts import AudioPart, FilePart, ImagePart
from hermes.ports.options import EFFORT_OPTIONS, Extras, Option
from hermes.ports.provider import ModelRequest

# Models that take no other sampling beside reasoning still take this much.
_HIGH_TOP_P = 0.95


def demands_of(
    request: ModelRequest, *, has_files: bool, fetches: bool = True
) -> tuple[Option, ...]:
    """Return the options that the answer to a request depends on; nearly always none.

    `fetches` says that Hermes may fetch pictures for a service that does not.
    """
    if not (request.stop or request.seed is not None or request.extras is not None or has_files):
        return ()
    found: list[Option] = ["stop"] if request.stop else []
    if not all(text.strip() for text in request.stop):
        found.append("blank_stop")
    if request.seed is not None:
        found.append("seed")
    if request.extras is not None:
        found += _of_extras(request.extras)
    if has_files:
        found += _of_files(request, fetches=fetches)
    return tuple(dict.fromkeys(found))


def sampling_hints(request: ModelRequest) -> Iterator[tuple[Option, str]]:
    """Yield what a request needs for its sampling to be sent as it is, with the field's name."""
    extras, choice = request.extras, request.tool_choice
    # A model that is made to call a tool does so without reasoning.
    reasons = bool(request.reasoning) and choice.name is None and choice.mode != "required"
    if request.temperature is not None:
        yield "temperature", "temperature"
        if request.temperature > 1:
            yield "high_temperature", "temperature"
        if reasons:
            yield "sampling_beside_reasoning", "temperature"
        elif request.reasoning is None:
            yield "reasons_only_if_asked", "temperature"
    if request.top_p is not None:
        yield "top_p", "top_p"
        if reasons and request.top_p < _HIGH_TOP_P:
            yield "sampling_beside_reasoning", "top_p"
        elif request.reasoning is None:
            yield "reasons_only_if_asked", "top_p"
        if not reasons and request.temperature is not None:
            yield "top_p_beside_temperature", "top_p"
    if reasons and extras is not None and extras.top_k is not None:
        yield "sampling_beside_reasoning", "top_k"


def conflict_hints(request: ModelRequest) -> Iterator[tuple[Option, Option]]:
    """Yield what a model needs to heed a hint as this request has it, with that hint."""
    extras, wanted, choice = request.extras, request.reasoning, request.tool_choice
    if wanted:
        if request.tools:
            yield "reasoning_beside_tools", "reasoning"
            if choice.name is not None or choice.mode == "required":
                yield "reasoning_beside_forced_tools", "reasoning"
        is_exact = extras is not None and extras.effort is not None
        if isinstance(wanted, str) and wanted in EFFORT_OPTIONS and not is_exact:
            yield EFFORT_OPTIONS[wanted], "reasoning"
    if any(_wants_original(message) for message in request.messages):
        yield "original_detail", "image_detail"
    if extras is None or extras.prediction is None:
        return
    refused = (request.tools, request.max_output_tokens, extras.frequency_penalty)
    if any(refused) or extras.presence_penalty or extras.top_logprobs is not None:
        yield "prediction_beside_options", "prediction"


def _wants_original(message: ChatMessage) -> bool:
    return any(isinstance(one, ImagePart) and one.detail == "original" for one in message.parts)


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
