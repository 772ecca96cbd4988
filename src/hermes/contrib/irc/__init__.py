"""IRC as a plugin: `plugins: [hermes.contrib.irc]` adds the platform `irc`.

It uses only what docs/channels/writing-a-channel.md describes for plugin authors, and nothing
outside refers to it.
"""

from hermes.contrib.irc.channel import make
from hermes.plugins.registry import Registry


def register(registry: Registry) -> None:
    """Register the platform whose manifest is next to this file."""
    registry.platform("hermes.contrib.irc", make)
