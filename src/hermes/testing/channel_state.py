"""The in-memory twin of the state of channels, for the tests of a channel."""

from hermes.channel_kit.memory_state import MemoryChannelState
from hermes.ports.channel_state import PlatformState

__all__ = ["MemoryChannelState", "memory_state"]


def memory_state(platform: str = "test") -> PlatformState:
    """Return an empty state of one platform."""
    return PlatformState(MemoryChannelState(), platform)
