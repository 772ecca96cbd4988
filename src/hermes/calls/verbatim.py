"""Whether an answer is a sample: what a model wrote, word for word, to exactly what is recorded.

Where a service is shown or gives something else than the request and the answer hold, the answer is
kept and given all the same, and no training export takes it for a sample. Pure.
"""

from hermes.message.parts import AudioPart, FilePart, ImagePart, ReasoningPart, TextPart
from hermes.ports.provider import CallEnd, ModelRequest, ProviderInfo

# A file may be gone or of a kind the model cannot take; then a sentence stands for it.
_TOLD_OF = (ImagePart, AudioPart, FilePart)


def is_shown_whole(request: ModelRequest, info: ProviderInfo) -> bool:
    """Tell whether a provider shows its model every part of a request as it stands there."""
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
    """Tell whether the answer holds the thoughts that were heard while it was written."""
    return not has_thought or any(isinstance(part, ReasoningPart) for part in end.parts)
