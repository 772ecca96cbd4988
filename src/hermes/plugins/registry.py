"""What plugins and built-in adapters register by name: platforms, providers, tools, hooks, ..."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from hermes.config.section import NAME_MEANING, NAME_PATTERN
from hermes.errors import ConfigurationError
from hermes.plugins.hook_loader import checked
from hermes.plugins.manifest import Manifest, load_manifest
from hermes.ports.adapter import NATIVE, Adapter
from hermes.ports.channel_setup import MakeChannel
from hermes.ports.command import ChatCommand
from hermes.ports.hooks import Hook
from hermes.ports.provider import Provider
from hermes.ports.tool import Tool
from hermes.ports.vision import VisionPipeline

# Any: what an adapter's factory gets (its settings and the outbound client) is the adapter's own
# business; the registry only keeps it by name.
ProviderFactory = Callable[[str, Any, Any], Provider]


class Platform(msgspec.Struct, frozen=True):
    """A platform that can be enabled: its manifest, its channel factory, and its origin.

    `sender` makes a channel that sends without being connected, for sends while no gateway runs.
    """

    manifest: Manifest
    make: MakeChannel
    package: str = ""
    sender: MakeChannel | None = None


# As the model services allow them.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# As the settings name them: `vision.intents.NAME`.
_INTENT_NAME = re.compile(NAME_PATTERN)


class Registry:
    """Adapters by name; a later one replaces an earlier one of the same name, except for tools."""

    def __init__(self) -> None:
        self.platforms: dict[str, Platform] = {}
        self.providers: dict[str, ProviderFactory] = {}
        self.tools: dict[str, Tool] = {}
        self.adapters: dict[str, Adapter] = {}
        self.visions: dict[str, VisionPipeline] = {}
        self.commands: dict[str, ChatCommand] = {}
        self.hooks: dict[str, Hook] = {}

    def platform(
        self,
        package: str,
        make: MakeChannel,
        *,
        manifest: str = "manifest.toml",
        sender: MakeChannel | None = None,
    ) -> None:
        """Register the platform whose manifest is in `package`; replaces a built-in one.

        A package that offers several platforms registers each with the file of its manifest. Without
        a `sender`, a send while no gateway runs connects the channel first.
        """
        loaded = load_manifest(package, manifest)
        self.platforms[loaded.name] = Platform(loaded, make, package, sender)

    def provider(self, kind: str, factory: ProviderFactory) -> None:
        """Register a provider kind: `factory(name, settings, client)` makes the provider."""
        self.providers[kind] = factory

    def tool(self, tool: Tool) -> None:
        """Register a tool; a second one of the same name is refused."""
        name = tool.spec.name
        if _TOOL_NAME.fullmatch(name) is None:
            raise ConfigurationError(
                f"the tool {name!r} of {_place(tool)} cannot be named so: expected 1 to 64 letters "
                "(a-z), digits, '_' and '-'; rename it"
            )
        known = self.tools.setdefault(name, tool)
        if known is not tool:
            raise ConfigurationError(
                f"two tools are named {name!r}: {_place(known)} and {_place(tool)}; rename one of "
                "them, or remove one from `tools.modules` or `plugins`"
            )

    def adapter(self, name: str, adapter: Adapter) -> None:
        """Register what answers for agents with this `runtime`; its name must be free."""
        known = self.adapters.setdefault(name, adapter)
        if known is not adapter or name == NATIVE:
            raise ConfigurationError(
                f"there is an adapter {name!r} already; remove one of them from `plugins` or `adapters`"
            )

    def vision(self, pipeline: VisionPipeline) -> None:
        """Register the handler for pictures of one intent; a second one is refused."""
        name = pipeline.intent
        if _INTENT_NAME.fullmatch(name) is None:
            raise ConfigurationError(
                f"the vision pipeline {_place(pipeline)} cannot be for the intent {name!r}: expected "
                f"{NAME_MEANING}; rename it"
            )
        known = self.visions.setdefault(name, pipeline)
        if known is not pipeline:
            raise ConfigurationError(
                f"two vision pipelines are for {name!r}: {_place(known)} and {_place(pipeline)}; "
                "remove one of them from `plugins`"
            )

    def command(self, command: ChatCommand) -> None:
        """Register a chat command; its name must be free."""
        known = self.commands.setdefault(command.name, command)
        if known is not command:
            raise ConfigurationError(
                f"two plugins register a command /{command.name}; remove one of them from `plugins`"
            )

    def hook(self, hook: Hook) -> None:
        """Register code that receives events; its name must be free."""
        known = self.hooks.setdefault(hook.name, checked(hook))
        if known is not hook:
            raise ConfigurationError(
                f"two plugins register a hook {hook.name!r}; remove one of them from `plugins`"
            )

    def make_provider(self, name: str, kind: str, *, settings: Any, client: Any) -> Provider:
        """Make a configured provider."""
        factory = self.providers.get(kind)
        if factory is None:
            known = ", ".join(sorted(self.providers))
            raise ConfigurationError(
                f"providers.{name}.kind: {kind!r} is not known; known kinds: {known}"
            )
        return factory(name, settings, client)


def _place(thing: Tool | VisionPipeline) -> str:
    """Return where something comes from: the function it is made from, or its class."""
    kind = type(thing)
    return str(getattr(thing, "place", f"{kind.__module__}.{kind.__qualname__}"))
