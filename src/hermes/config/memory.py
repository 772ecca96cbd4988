"""The settings of memory: what sessions begin with, what is recalled, and what is learnt.

Part of config. Learning by itself costs model calls that nobody asked for, so it is off until an
operator says otherwise.
"""

from typing import Annotated

from pydantic import Field

from hermes.config.section import Count, Days, ModelName, Name, Seconds, Section


class MemorySettings(Section):
    """What agents know of the people they talk to."""

    earlier_messages: Annotated[int, Field(ge=0, le=50)] = Field(
        default=5,
        description="How many messages of a person's earlier sessions a new session begins with; "
        "0: none.",
    )
    recall: bool = Field(
        default=True,
        description="Whether facts are recalled by meaning.",
    )
    recall_facts: Annotated[int, Field(ge=1, le=100)] = Field(
        default=10, description="At most this many facts are recalled for one message."
    )
    embedder: Name | None = Field(
        default=None,
        description="The provider of vectors for facts and messages; default: the built-in "
        "minilm, or another provider on this machine.",
    )
    recall_timeout_s: Seconds = Field(
        default=2, description="The time limit of recall; after it the message is answered without."
    )
    extract: bool = Field(
        default=False,
        description="Whether facts are learnt from what people say, by model calls after the "
        "reply. The platform pays for them.",
    )
    extract_model: ModelName | None = Field(
        default=None, description="The model that learns; default: models.summaries."
    )
    extract_pause_s: Seconds = Field(
        default=120, description="Learning starts after this long a silence in a session."
    )
    extract_after_s: Seconds = Field(
        default=1_800,
        description="Learning starts after this long even if the conversation continues.",
    )
    dream: bool = Field(
        default=False,
        description="Whether a model reviews what is known of each person and what they wrote "
        "from time to time, for insights and gaps. The platform pays for it.",
    )
    dream_model: ModelName | None = Field(
        default=None, description="The model for dreams; default: models.summaries."
    )
    dream_days: Days = Field(
        default=7, description="How often a person is reviewed, and only if there is something new."
    )
    dreams_a_day: Count = Field(
        default=200, description="At most this many people are reviewed per day, evenly spread."
    )
