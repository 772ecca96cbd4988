"""What a message is made of: text, media, tool calls and tool results.

Parts are exactly what a model can see; times and provenance never belong here.
"""

from typing import Literal

import msgspec


class TextPart(msgspec.Struct, frozen=True, tag="text", omit_defaults=True):
    """Plain text."""

    text: str


class NotePart(msgspec.Struct, frozen=True, tag="note", omit_defaults=True):
    """A note from Hermes to the model beside a message; a model reads it as text, people never see
    it."""

    text: str


ImageDetail = Literal["low", "high", "original"]


class Media(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the bytes of an attachment are: a cached file, or an address, and their type.

    `path` is that inside the media folder; in older messages, and once it was located, the whole one.
    `ref` is the platform's own name for it, with which its channel can fetch the bytes.
    """

    mime: str
    path: str | None = None
    url: str | None = None
    name: str | None = None
    size: int | None = None
    ref: str | None = None


class ImagePart(msgspec.Struct, frozen=True, tag="image", omit_defaults=True):
    """A picture; `detail` is how closely a model should look at it, if the sender said so."""

    media: Media
    detail: ImageDetail | None = None


class AudioPart(msgspec.Struct, frozen=True, tag="audio", omit_defaults=True):
    """A sound, with its transcript if there is one; `is_voice` if somebody speaks to the reader."""

    media: Media
    transcript: str | None = None
    is_voice: bool = False


class FilePart(msgspec.Struct, frozen=True, tag="file", omit_defaults=True):
    """Any other attachment."""

    media: Media


class ToolCallPart(msgspec.Struct, frozen=True, tag="tool_call", omit_defaults=True):
    """A model's request to run a tool; `arguments` is the raw JSON text that the model wrote."""

    id: str
    name: str
    arguments: str


class ToolResultPart(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """The result of the tool call `call_id`."""

    call_id: str
    name: str
    text: str
    failed: bool = False


class ReasoningPart(msgspec.Struct, frozen=True, tag="reasoning", omit_defaults=True):
    """A model's reasoning; `signature` and `sealed` go back unchanged to the dialect they came
    from.

    `sealed` is reasoning that only its service can read (redacted or encrypted); `text` may then be
    empty.
    """

    text: str
    dialect: str
    signature: str | None = None
    sealed: str | None = None
    id: str | None = None


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer to a question; `value` is an opaque reference that the store knows, and says nothing."""

    label: str
    value: str
    style: Literal["plain", "good", "bad"] = "plain"


class ChoicesPart(msgspec.Struct, frozen=True, tag="choices", omit_defaults=True):
    """A question with its answers as buttons.

    The question is complete without them: it says what to write instead.
    """

    question: str
    choices: tuple[Choice, ...]


Part = (
    TextPart
    | NotePart
    | ImagePart
    | AudioPart
    | FilePart
    | ChoicesPart
    | ToolCallPart
    | ToolResultPart
    | ReasoningPart
)


def continues(part: ReasoningPart, before: ReasoningPart) -> bool:
    """Return whether `part` goes on with the thought `before`: same id and no seal of its own."""
    is_open = part.signature is None and part.sealed is None
    return is_open and part.id is not None and part.id == before.id


def text_of(parts: tuple[Part, ...]) -> str:
    """Return the plain text of `parts`, joined; that of choices is their question."""
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return "".join(filter(None, map(_text_of, parts)))


def files_of(parts: tuple[Part, ...]) -> tuple[Media, ...]:
    """Return the attachments among `parts`, in order."""
    # A list, as below: hardly any reply has one.
    return tuple(
        [part.media for part in parts if isinstance(part, ImagePart | AudioPart | FilePart)]
    )


def choices_of(parts: tuple[Part, ...]) -> tuple[Choice, ...]:
    """Return the choices among `parts`."""
    return next((part.choices for part in parts if isinstance(part, ChoicesPart)), ())


def tool_calls_of(parts: tuple[Part, ...]) -> tuple[ToolCallPart, ...]:
    """Return the tool calls among `parts`, in order."""
    # A list, not a generator: nearly all answers have one part, and every answer is asked.
    return tuple([part for part in parts if isinstance(part, ToolCallPart)])


def _text_of(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    return part.question if isinstance(part, ChoicesPart) else ""
