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
        "0 for none.",
    )
    recall: bool = Field(
        default=True,
        description="Whether facts are recalled by their meaning.",
    )
    recall_facts: Annotated[int, Field(ge=1, le=100)] = Field(
        default=10, description="At most this many facts are recalled for one message."
    )
    embedder: Name | None = Field(
        default=None,
        description="The provider that makes vectors of facts and messages; else minilm, which is "
        "built in, or another on this machine.",
    )
    recall_timeout_s: Seconds = Field(
        default=2, description="A message is answered without recall when it takes longer."
    )
    extract: bool = Field(
        default=False,
        description="Whether facts are learnt from what people say, by model calls after the reply "
        "that the platform pays for.",
    )
    extract_model: ModelName | None = Field(
        default=None, description="The model that learns; else models.summaries."
    )
    extract_pause_s: Seconds = Field(
        default=120, description="A session is learnt from when nothing was said for so long."
    )
    extract_after_s: Seconds = Field(
        default=1_800, description="It is learnt from after so long even if the talk goes on."
    )
    dream: bool = Field(
        default=False,
        description="Whether a model looks now and then at what is known of each person and what "
        "they wrote, for insights and gaps; the platform pays for it.",
    )
    dream_model: ModelName | None = Field(
        default=None, description="The model that does so; else models.summaries."
    )
    dream_days: Days = Field(
        default=7, description="A person is looked at this often, and only if there is news."
    )
    dreams_a_day: Count = Field(
        default=200, description="At most this many people are looked at a day, evenly spread."
    )
