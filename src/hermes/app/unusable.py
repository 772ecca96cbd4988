"""What stands in a channel's place when it cannot be made: a missing secret, settings that do not fit.

Its platform is told as failed for good, and no other is held up. It hears nothing, has no webhook and
sends nothing; replies that wait there wait on.
"""

from hermes.errors import ConfigurationError
from hermes.ports.channel import Accept, Capabilities


class UnusableChannel:
    """A platform that is switched on and cannot be used; fits `ports.channel.Channel`."""

    def __init__(self, name: str, problem: str, *, capabilities: Capabilities) -> None:
        self.name = name
        self.problem = problem
        self.capabilities = capabilities

    async def connect(self, accept: Accept) -> None:
        """Never connects: says why, which ends the tries."""
        del accept
        raise ConfigurationError(self.problem)

    async def disconnect(self) -> None:
        """There is nothing to end."""
