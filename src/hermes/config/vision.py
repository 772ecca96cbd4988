"""The settings of pictures: who describes them to a model that cannot see, and what captions mean.

Part of config. Which words tell a built-in intent is data beside the classifier; here an operator
changes them and adds intents.
"""

from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from hermes.config.section import Means, Named, Seconds, Section, Word
from hermes.config.tools import Pattern

Seer = Annotated[
    str,
    Field(pattern=r"^(auto|off|[a-z0-9][a-z0-9_-]*:\S+)$"),
    Means('"auto", "off", or "provider:model" such as "openai:gpt-4o-mini"'),
]


class ImageIntentSettings(Section):
    """What somebody wants who sends a picture, and how they say it."""

    words: tuple[Word, ...] = Field(
        default=(),
        description="Words and beginnings of words that tell it, in any language; they replace "
        "those of the built-in intent of the same name.",
    )
    patterns: tuple[Pattern, ...] = Field(
        default=(),
        description="Regular expressions that tell it; searched in small letters without accents.",
    )


class VisionSettings(Section):
    """Pictures: who looks at them, and which go to a pipeline of their own."""

    model: Seer = Field(
        default="auto",
        description="The model that describes pictures to one that cannot see them, as "
        "provider:model; auto for any that can, off for none.",
    )
    max_pictures: Annotated[int, Field(ge=1, le=50)] = Field(
        default=8, description="At most this many pictures of one message are described."
    )
    ask_model: bool = Field(
        default=False,
        description="Whether a model decides what a picture is sent for where its caption tells "
        "nothing; only if a plugin answers some intent.",
    )
    timeout_s: Seconds = Field(
        default=60.0,
        description="A vision pipeline of a plugin is given up after so long without a result; "
        "the models that it asks have their own limits.",
    )
    intents: Named[ImageIntentSettings] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="What pictures are sent for, by name; an intent of your own, or other words "
        "for a built-in one.",
    )
