"""One short real call to a model service, through the code that answers people.

`hermes init` tests a new key with it; `hermes doctor --call` tests the configured ones.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hermes.app.adapters import make_client, make_registry
from hermes.config import LoadedConfig, ProviderSettings, Settings
from hermes.errors import HermesError, ProviderError
from hermes.message.chat import ChatMessage
from hermes.message.parts import TextPart
from hermes.ports.clock import Clock
from hermes.ports.model_lists import ModelLister
from hermes.ports.provider import CallEnd, ModelRequest, Provider

_LONGEST_S = 30.0
_LONGEST_LIST_S = 10.0
# The smallest limit that every service accepts.
_ANSWER_TOKENS = 16
_QUESTION = "Answer with the one word: yes"


class KeyTest(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one call; a `problem` of None means that it was answered."""

    provider: str
    model: str
    seconds: float = 0.0
    problem: str | None = None


async def try_provider(
    name: str, table: ProviderSettings, *, settings: Settings, home: Path, clock: Clock
) -> KeyTest:
    """Call a service once, configured by `table`."""
    client = make_client(settings)
    try:
        registry = make_registry(settings, home=home, on_status=_ignore)
        provider = registry.make_provider(name, table.kind, settings=table, client=client)
        try:
            return await _call(provider, clock)
        finally:
            await provider.close()
    finally:
        await client.close()


async def list_models(name: str, *, settings: Settings, home: Path) -> tuple[str, ...]:
    """Return the names of the models that a service lists; raises `HermesError` if it does not."""
    client = make_client(settings)
    table = settings.providers[name]
    try:
        registry = make_registry(settings, home=home, on_status=_ignore)
        provider = registry.make_provider(name, table.kind, settings=table, client=client)
        try:
            if not isinstance(provider, ModelLister):
                return ()
            async with asyncio.timeout(_LONGEST_LIST_S):
                return tuple(await provider.list_models())
        except TimeoutError:
            raise ProviderError(f"no list within {_LONGEST_LIST_S:g} s") from None
        finally:
            await provider.close()
    finally:
        await client.close()


async def try_configured(loaded: LoadedConfig, clock: Clock) -> tuple[KeyTest, ...]:
    """Call once every configured service that has a key or is self-hosted."""
    chosen = {
        name: table
        for name, table in loaded.settings.providers.items()
        if table.enabled and _is_meant(table, loaded.origins, name)
    }
    tries = (
        try_provider(name, table, settings=loaded.settings, home=loaded.home, clock=clock)
        for name, table in chosen.items()
    )
    return tuple(await asyncio.gather(*tries))


def _is_meant(table: ProviderSettings, origins: Mapping[str, str], name: str) -> bool:
    if table.kind in ("local", "minilm"):
        return False
    given = table.has_credential
    return given or origins.get(f"providers.{name}.base_url", "default") != "default"


async def _call(provider: Provider, clock: Clock) -> KeyTest:
    info, began = provider.info, clock.monotonic()
    request = ModelRequest(
        model=info.model,
        messages=(ChatMessage(role="user", parts=(TextPart(_QUESTION),)),),
        max_output_tokens=_ANSWER_TOKENS,
    )
    try:
        async with asyncio.timeout(_LONGEST_S):
            stream = provider.stream(request)
            try:
                ended = [event async for event in stream if isinstance(event, CallEnd)]
            finally:
                await stream.aclose()
    except TimeoutError:
        problem: str | None = f"no answer within {_LONGEST_S:g} s"
    except HermesError as error:
        problem = str(error)
    else:
        problem = None if ended else "the answer was cut off"
    seconds = clock.monotonic() - began
    return KeyTest(provider=info.name, model=info.model, seconds=seconds, problem=problem)


def _ignore(_: str) -> None:
    """A test call reports nothing."""
