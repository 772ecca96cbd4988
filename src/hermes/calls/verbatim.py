"""Whether an answer is a sample: what a model wrote, word for word, to exactly what is recorded.

Where a service is shown or gives something else than the request and the answer hold, the answer is
kept and given all the same, and no training export takes it for a sample. Pure.
"""

from hermes.message.chat import ChatMessage
from hermes.message.parts import AudioPart, FilePart, ImagePart, ReasoningPart
from hermes.ports.provider import CallEnd, ModelRequest, ProviderInfo


def is_shown_whole(request: ModelRequest, info: ProviderInfo) -> bool:
    """Tell whether a provider shows its model every part of a request as it stands there."""
    return all(_is_shown(message, info) for message in request.messages)


def is_kept_whole(end: CallEnd, *, has_thought: bool) -> bool:
    """Tell whether the answer holds the thoughts that were heard while it was written."""
    return not has_thought or any(isinstance(part, ReasoningPart) for part in end.parts)


def _is_shown(message: ChatMessage, info: ProviderInfo) -> bool:
    for part in message.parts:
        if isinstance(part, ImagePart | AudioPart | FilePart):
            # A file may be gone or of a kind the model cannot take; then a sentence stands for it.
            return False
        if isinstance(part, ReasoningPart) and part.dialect != info.dialect:
            return False
    return True
