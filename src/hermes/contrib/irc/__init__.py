"""IRC as a plugin: `plugins: [hermes.contrib.irc]` offers the platform `irc`.

It uses only what docs/channels/writing-a-channel.md tells plugin authors of, and nothing outside names it.
"""

from hermes.contrib.irc.channel import make
from hermes.plugins.registry import Registry


def register(registry: Registry) -> None:
    """Offer the platform whose manifest lies beside this file."""
    registry.platform("hermes.contrib.irc", make)
