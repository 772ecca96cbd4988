"""Replaces a channel that cannot be built: a missing secret, or settings that do not fit.

Its platform is reported as permanently failed, and delays no other. It receives nothing, has no
webhook and sends nothing; its waiting replies keep waiting.
"""

from hermes.errors import ConfigurationError
from hermes.ports.channel import Accept, Capabilities


class UnusableChannel:
    """An enabled platform that cannot be used; fits `ports.channel.Channel`."""

    def __init__(self, name: str, problem: str, *, capabilities: Capabilities) -> None:
        self.name = name
        self.problem = problem
        self.capabilities = capabilities

    async def connect(self, accept: Accept) -> None:
        """Never connects: raises why, which ends the attempts."""
        del accept
        raise ConfigurationError(self.problem)

    async def disconnect(self) -> None:
        """Nothing to disconnect."""
