"""The vision port: something that answers messages with pictures of one intent itself."""

from typing import Protocol

import msgspec

from hermes.message.parts import ImagePart


class Look(Protocol):
    """Asks a model that reads pictures; the call is paid, written down and never bought twice."""

    async def __call__(self, prompt: str, *, pictures: tuple[ImagePart, ...] | None = None) -> str:
        """Return what it says to the prompt and the pictures, by default all of the message.

        Raises `ProviderError` or `TryLater` when no model can look at them now.
        """
        ...


class VisionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A message with pictures that a pipeline is to answer; `text` is what the person wrote."""

    turn_id: str
    person_id: str
    lane: str
    intent: str
    text: str
    pictures: tuple[ImagePart, ...]
    look: Look


class VisionPipeline(Protocol):
    """Answers messages with pictures whose caption has its intent."""

    @property
    def intent(self) -> str:
        """The intent it is for, such as `calorie_scan`."""
        ...

    @property
    def words(self) -> tuple[str, ...]:
        """More words and beginnings of words in a caption that mean the intent."""
        ...

    async def answer(self, asked: VisionRequest) -> str:
        """Return the reply; an empty one, or an error, leaves the message to the agent's model.

        It may be run again after a crash; what it has asked through `look` is not asked again.
        """
        ...
