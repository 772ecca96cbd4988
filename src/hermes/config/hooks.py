"""The settings of hooks: how long they may take, and how many of their calls may wait."""

from pydantic import Field

from hermes.config.section import Count, Seconds, Section


class HookSettings(Section):
    """Code of the operator's own that hears of what happens."""

    enabled: bool = Field(
        default=True, description="Whether hooks run: those of the folder hooks/ and of plugins."
    )
    entry_points: bool = Field(
        default=False,
        description="Whether hooks of installed packages run, too (entry points hermes.hooks).",
    )
    timeout_s: Seconds = Field(
        default=5, description="How long one call may take where the hook itself says nothing."
    )
    queue: Count = Field(
        default=1000,
        description="With how many calls waiting for one hook further ones are dropped.",
    )
    failures: Count = Field(
        default=5,
        description="After this many failures in a row a hook is switched off until the next start.",
    )
