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
        description="Words and word beginnings that indicate the intent, in any language; they "
        "replace those of the built-in intent of the same name.",
    )
    patterns: tuple[Pattern, ...] = Field(
        default=(),
        description="Regular expressions that indicate the intent; they are matched against "
        "lower case without accents.",
    )


class VisionSettings(Section):
    """Pictures: who looks at them, and which go to a pipeline of their own."""

    model: Seer = Field(
        default="auto",
        description="The model that describes pictures for a model that cannot see them, as "
        "provider:model; auto uses any that can, off none.",
    )
    max_pictures: Annotated[int, Field(ge=1, le=50)] = Field(
        default=8, description="At most this many pictures of one message are described."
    )
    ask_model: bool = Field(
        default=False,
        description="Whether a model decides what a picture was sent for if its caption does not "
        "say; only if a plugin handles some intent.",
    )
    timeout_s: Seconds = Field(
        default=60.0,
        description="A plugin's vision pipeline is stopped after this long without a result; the "
        "models that it calls have their own limits.",
    )
    intents: Named[ImageIntentSettings] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="What pictures are sent for, by name: your own intents, or other words for "
        "built-in ones.",
    )
