"""What plugins and built-in adapters register: channels, providers and tools, by name."""

from collections.abc import Callable, Mapping
from typing import Any

from hermes.errors import ConfigurationError
from hermes.ports.channel import Channel
from hermes.ports.provider import Provider
from hermes.ports.tool import Tool

# Any: what an adapter's factory gets (its settings and the outbound client) is the adapter's own
# business; the registry only keeps it by name.
ChannelFactory = Callable[[Mapping[str, object], Any], Channel]
ProviderFactory = Callable[[str, Any, Any], Provider]


class Registry:
    """Adapters by name; a later registration of the same name replaces the earlier one."""

    def __init__(self) -> None:
        self.channels: dict[str, ChannelFactory] = {}
        self.providers: dict[str, ProviderFactory] = {}
        self.tools: dict[str, Tool] = {}

    def channel(self, name: str, factory: ChannelFactory) -> None:
        """Register a platform: `factory(settings, client)` makes its channel."""
        self.channels[name] = factory

    def provider(self, kind: str, factory: ProviderFactory) -> None:
        """Register a wire dialect: `factory(name, settings, client)` makes a provider of it."""
        self.providers[kind] = factory

    def tool(self, tool: Tool) -> None:
        """Register a tool."""
        self.tools[tool.spec.name] = tool

    def make_channel(self, name: str, settings: Mapping[str, object], *, client: Any) -> Channel:
        """Make the channel of an enabled platform."""
        factory = self.channels.get(name)
        if factory is None:
            known = ", ".join(sorted(self.channels)) or "none"
            raise ConfigurationError(
                f"platforms.{name}: no channel of that name is installed; known: {known}. "
                "Add its plugin to `plugins`, or remove the platform"
            )
        return factory(settings, client)

    def make_provider(self, name: str, kind: str, *, settings: Any, client: Any) -> Provider:
        """Make a configured provider."""
        factory = self.providers.get(kind)
        if factory is None:
            known = ", ".join(sorted(self.providers))
            raise ConfigurationError(
                f"providers.{name}.kind: {kind!r} is not known; known kinds: {known}"
            )
        return factory(name, settings, client)
