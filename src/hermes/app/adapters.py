"""The built-in adapters, registered by the same registry as third-party ones."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import structlog

from hermes.config import ProviderSettings, Settings
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.loader import load_plugin
from hermes.plugins.registry import Registry
from hermes.ports.channel import Channel
from hermes.ports.provider import Provider
from hermes.providers.local.provider import LocalProvider
from hermes.providers.local.settings import LocalSettings
from hermes.providers.openai.provider import OpenAIProvider
from hermes.providers.openai.settings import OFFICIAL_URL, OpenAISettings

Tell = Callable[[str], None]

_LATER_KINDS = frozenset({"anthropic", "gemini"})
_log = structlog.get_logger(__name__)


def make_client(settings: Settings) -> HttpClient:
    """Return the one outbound client."""
    proxy = settings.proxy
    return HttpClient(
        HttpSettings(
            timeout_s=settings.outbox.send_timeout_s,
            proxy=None if proxy is None else str(proxy),
            ipv4_only=settings.ipv4_only,
        )
    )


def make_registry(settings: Settings, *, home: Path, on_status: Tell) -> Registry:
    """Return the registry with everything built in and every configured plugin."""
    registry = Registry()
    registry.provider("openai", _openai)
    registry.provider("local", lambda name, table, _client: _local(name, table, on_status))
    for plugin in settings.plugins:
        load_plugin(plugin, registry, home=home)
    return registry


def make_providers(
    settings: Settings, registry: Registry, *, client: HttpClient
) -> Mapping[str, Provider]:
    """Return every enabled provider by name, in the order of the configuration.

    A well-known key in the environment may name a wire that is not spoken yet; that is said and
    not fatal, since nobody chose it for this gateway.
    """
    providers: dict[str, Provider] = {}
    for name, table in settings.providers.items():
        if not table.enabled:
            continue
        if table.kind in _LATER_KINDS and table.kind not in registry.providers:
            _log.warning(
                "provider_skipped", provider=name, reason=f"{table.kind} is not spoken yet"
            )
            continue
        providers[name] = registry.make_provider(name, table.kind, settings=table, client=client)
    return providers


def make_push_channels(
    settings: Settings, registry: Registry, *, client: HttpClient
) -> Mapping[str, Channel]:
    """Return the channel of every enabled platform by name."""
    return {
        name: registry.make_channel(name, dict(platform.extra), client=client)
        for name, platform in settings.platforms.items()
        if platform.enabled
    }


def _openai(name: str, table: ProviderSettings, client: Any) -> Provider:
    headers = {key: value.get_secret_value() for key, value in table.headers.items()}
    return OpenAIProvider(
        OpenAISettings(
            name=name,
            model=table.model or "",
            base_url=OFFICIAL_URL if table.base_url is None else str(table.base_url),
            api_key=None if table.api_key is None else table.api_key.get_secret_value(),
            headers=headers,
            context_tokens=table.context_tokens,
            max_output_tokens=table.max_output_tokens,
            price_in_per_million=table.price_in_per_million or 0.0,
            price_out_per_million=table.price_out_per_million or 0.0,
        ),
        client,
    )


def _local(name: str, table: ProviderSettings, on_status: Tell) -> Provider:
    return LocalProvider(
        LocalSettings(
            name=name,
            threads=table.threads,
            context_tokens=table.context_tokens,
            idle_unload_s=table.idle_unload_s,
            max_output_tokens=table.max_output_tokens or 512,
        ),
        on_status=on_status,
    )
