"""What becomes of an answer that has arrived: whether it counts, and whether it is a faithful sample.

Pure. `ModelCaller` has priced it already. Only an answer whose model was shown the whole request, and
of which everything is kept, is verbatim.
"""

import msgspec

from hermes.calls.context_fit import FittedContext
from hermes.calls.failover import Failover
from hermes.calls.request_fit import FittedRequest
from hermes.errors import ProviderUnavailable, StreamTruncated
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
    tool_calls_of,
)
from hermes.ports.provider import CallEnd, ModelRequest, ProviderInfo
from hermes.schema.unfinished_json import is_unfinished

_OF_THE_REQUEST = frozenset({"length", "refusal"})


def check_answer(end: CallEnd, walk: Failover) -> None:
    """Raise if the next candidate may do better: the answer is empty, or a tool call breaks off."""
    if walk.is_last:
        return
    name = walk.candidate.provider
    if not end.parts:
        error = ProviderUnavailable(f"{name} gave an empty answer")
        error.is_callers = is_callers_empty(end)
        raise error
    calls = () if walk.has_shown else tool_calls_of(end.parts)
    if any(is_unfinished(call.arguments) for call in calls):
        raise StreamTruncated(f"{name} ended in the middle of a tool call's arguments")


def is_callers_empty(end: CallEnd) -> bool:
    """Return whether the request led to an answer without words: the model thought until its length
    limit, or until it had nothing to say, or it refused. Otherwise the service failed.
    """
    return end.stop_reason in _OF_THE_REQUEST or bool(end.usage.reasoning_out)


def drop_thoughts(end: CallEnd, *, shows_thoughts: bool) -> CallEnd:
    """Return the answer without thoughts that its service does not take back, unless they are
    shown.
    """
    if end.thoughts_go_back or shows_thoughts:
        return end
    parts = tuple(part for part in end.parts if not isinstance(part, ReasoningPart))
    return msgspec.structs.replace(end, parts=parts)


def note_left_out(end: CallEnd, context: FittedContext) -> CallEnd:
    """Return the end with what the model was not shown, or not as it was."""
    if context.is_shortened:
        end = msgspec.structs.replace(end, is_verbatim=False)
    if not context.left_out:
        return end
    return msgspec.structs.replace(end, left_out=end.left_out + context.left_out)


def is_whole(fitted: FittedRequest, context: FittedContext, info: ProviderInfo) -> bool:
    """Return whether the model is shown what fits its context, and nothing else."""
    return fitted.request is context.request and is_shown_whole(context.request, info)


def check_verbatim(end: CallEnd, has_thought: bool, *, is_whole: bool) -> CallEnd:
    """Return the end; verbatim only if the model saw the whole request and all output is kept."""
    if not end.is_verbatim or (is_whole and is_kept_whole(end, has_thought=has_thought)):
        return end
    return msgspec.structs.replace(end, is_verbatim=False)


# A file may be missing or of a kind that the model does not accept; then a sentence replaces it.
_TOLD_OF = (ImagePart, AudioPart, FilePart)


def is_shown_whole(request: ModelRequest, info: ProviderInfo) -> bool:
    """Return whether a provider passes every part of a request to its model unchanged."""
    if request.plain_chars is not None:
        return True
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                # Nearly all of a long history.
                continue
            if isinstance(part, ReasoningPart):
                if part.dialect != info.dialect:
                    return False
            elif isinstance(part, _TOLD_OF):
                return False
    return True


def is_kept_whole(end: CallEnd, *, has_thought: bool) -> bool:
    """Return whether the answer contains the thoughts that arrived while it was written."""
    return not has_thought or any(isinstance(part, ReasoningPart) for part in end.parts)
