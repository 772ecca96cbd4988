"""The built-in adapters, registered by the same registry as third-party ones."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from hermes.app.store_files import check_restored
from hermes.calls.deployments import DeployedProvider, Deployment
from hermes.config import ProviderSettings, Settings
from hermes.config.entries import EMBEDDER, OWN_EMBEDDER
from hermes.lazy import lazy
from hermes.net.client import HttpClient, HttpSettings
from hermes.net.page_fetch import PageFetch, ServiceCalls
from hermes.plugins.loader import load_plugin
from hermes.plugins.registry import Registry
from hermes.ports.clock import Clock
from hermes.ports.provider import Provider
from hermes.providers.local.provider import LocalProvider
from hermes.providers.local.settings import LocalSettings
from hermes.providers.minilm.provider import MiniLmEmbedder
from hermes.providers.minilm.settings import MiniLmSettings
from hermes.providers.wordllama.embedder import WordLlamaEmbedder
from hermes.providers.wordllama.model import is_installed
from hermes.routing.prices import most_output
from hermes.tools.builtin.web_fetch import WebFetch
from hermes.tools.builtin.web_search import WebSearch
from hermes.tools.mcp.calls import Tell as TellProgress
from hermes.tools.mcp.questions import ask_in_chat
from hermes.tools.mcp.servers import McpServers
from hermes.tools.modules import load_tools

if TYPE_CHECKING:
    from hermes.providers.anthropic.provider import make as make_anthropic_wire
    from hermes.providers.gemini.provider import make as make_gemini_wire
    from hermes.providers.ollama.provider import make as make_ollama_wire
    from hermes.providers.openai.provider import make as make_openai_wire
    from hermes.providers.openai_responses.provider import make as make_responses_wire
else:
    # Each wire is imported with the first provider that uses it.
    make_anthropic_wire = lazy("hermes.providers.anthropic.provider:make")
    make_gemini_wire = lazy("hermes.providers.gemini.provider:make")
    make_ollama_wire = lazy("hermes.providers.ollama.provider:make")
    make_openai_wire = lazy("hermes.providers.openai.provider:make")
    make_responses_wire = lazy("hermes.providers.openai_responses.provider:make")

_log = structlog.get_logger(__name__)
Tell = Callable[[str], None]


def make_client(settings: Settings) -> HttpClient:
    """Return the one outbound client."""
    proxy = settings.proxy
    return HttpClient(
        HttpSettings(
            timeout_s=settings.outbox.send_timeout_s,
            proxy=None if proxy is None else str(proxy),
            ipv4_only=settings.ipv4_only,
            exempt=settings.net.exempt,
            refuse=settings.net.refuse,
            ports=settings.net.ports,
            ca_bundle=settings.net.ca_bundle,
        )
    )


def make_registry(settings: Settings, *, home: Path, on_status: Tell) -> Registry:
    """Return the registry with everything built in and every configured plugin.

    Nothing runs of a home whose restore is not finished, or not checked.
    """
    check_restored(home)
    registry = Registry()
    registry.provider("openai", make_openai)
    registry.provider("openai-responses", make_responses)
    registry.provider("anthropic", make_anthropic)
    registry.provider("gemini", make_gemini)
    registry.provider("ollama", make_ollama)
    registry.provider("local", lambda name, table, _client: _local(name, table, on_status))
    registry.provider(EMBEDDER, _minilm)
    for plugin in settings.plugins:
        load_plugin(plugin, registry, home=home)
    load_tools(settings.tools.modules, registry, home=home)
    return registry


def add_built_in_tools(settings: Settings, registry: Registry, *, client: HttpClient) -> None:
    """Add the tools that come with Hermes and are switched on."""
    if settings.tools.web_fetch:
        registry.tool(WebFetch(PageFetch(client)))
    if settings.web_search.engine != "none":
        registry.tool(WebSearch(settings.web_search, ServiceCalls(client)))


def make_mcp(
    settings: Settings,
    *,
    clock: Clock,
    tell: TellProgress,
    home: Path,
    mask: Callable[[str], str] = str,
) -> McpServers:
    """Return the MCP client; nothing is started, and the SDK is not imported, before its start."""
    return McpServers(
        settings.mcp,
        clock=clock,
        ask=ask_in_chat,
        tell=tell,
        proxy=settings.proxy,
        ipv4_only=settings.ipv4_only,
        home=home,
        ca_bundle=settings.net.ca_bundle,
        mask=mask,
    )


def add_providers(
    providers: dict[str, Provider], settings: Settings, *, registry: Registry, client: HttpClient
) -> None:
    """Add every enabled provider by name, in the order of the configuration.

    The built-in embedder is added unless it is switched off: it costs nothing until it is used. If
    a provider cannot be built, the earlier ones are already in `providers`, to be closed.
    """
    for name, table in settings.providers.items():
        if table.enabled:
            providers[name] = make_provider(name, table, registry=registry, client=client)
    if settings.memory.recall and EMBEDDER not in settings.providers:
        table = ProviderSettings(kind=EMBEDDER)
        providers[EMBEDDER] = registry.make_provider(
            EMBEDDER, EMBEDDER, settings=table, client=client
        )


def make_provider(
    name: str, table: ProviderSettings, *, registry: Registry, client: HttpClient
) -> Provider:
    """Return a provider, or one over all its deployments."""
    if not table.deployments:
        return registry.make_provider(name, table.kind, settings=table, client=client)
    members = []
    for deployment, one in table.deployments.items():
        changed = {
            "base_url": one.base_url or table.base_url,
            "api_key": one.api_key or table.api_key,
        }
        own = table.model_copy(update=changed)
        made = registry.make_provider(name, table.kind, settings=own, client=client)
        members.append(Deployment(deployment, one.weight, made))
    return DeployedProvider(members)


def make_embedder(settings: Settings) -> WordLlamaEmbedder | None:
    """Return the small embedder of recall if it is named and its package is installed."""
    memory = settings.memory
    is_used = memory.recall and memory.embedder == OWN_EMBEDDER
    return WordLlamaEmbedder() if is_used and is_installed() else None


def _local(name: str, table: ProviderSettings, on_status: Tell) -> Provider:
    return LocalProvider(
        LocalSettings(
            name=name,
            threads=table.threads,
            context_tokens=table.context_tokens,
            idle_unload_s=table.idle_unload_s,
            max_output_tokens=table.max_output_tokens or LocalSettings().max_output_tokens,
        ),
        on_status=on_status,
    )


def _minilm(name: str, table: ProviderSettings, _client: HttpClient) -> Provider:
    """Its state is not reported to chats: it does not answer people."""
    return MiniLmEmbedder(
        MiniLmSettings(name=name, idle_unload_s=table.idle_unload_s),
        on_status=lambda text: _log.info("embedder_status", status=text),
    )


def make_openai(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that uses the chat completions API."""
    return make_openai_wire(_shared(name, table), client)


def make_responses(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that uses OpenAI's Responses API."""
    return make_responses_wire(_shared(name, table), client)


def make_anthropic(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that uses Anthropic's Messages API, with a key or an OAuth token."""
    token = None if table.oauth_token is None else table.oauth_token.get_secret_value()
    own = {"oauth_token": token, "own_limit": most_output}
    return make_anthropic_wire({**_shared(name, table), **own}, client)


def make_gemini(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that uses Gemini's generateContent."""
    return make_gemini_wire(_shared(name, table), client)


def make_ollama(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that uses Ollama's own API."""
    return make_ollama_wire(_shared(name, table), client)


# Any: keyword arguments of settings that all dialects have in common.
def _shared(name: str, table: ProviderSettings) -> dict[str, Any]:
    shared: dict[str, Any] = {
        "name": name,
        "model": table.model or "",
        "api_key": None if table.api_key is None else table.api_key.get_secret_value(),
        "headers": {key: value.get_secret_value() for key, value in table.headers.items()},
        "context_tokens": table.context_tokens,
        "max_output_tokens": table.max_output_tokens,
    }
    if table.base_url is not None:
        shared["base_url"] = str(table.base_url)
    return shared
