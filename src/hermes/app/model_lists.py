"""The services' own lists of models, kept in the home as `models.json` between starts.

The file can be made again at any time: one that cannot be read is reported and not used.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
import structlog

from hermes.app.adapters import add_providers, make_client, make_registry
from hermes.app.lifecycle import stop_all
from hermes.config import LoadedConfig
from hermes.control.model_refresh import ModelRefresh, RefreshOrder, RefreshReport
from hermes.durable_file import write_durably
from hermes.ports.clock import Clock, SystemClock
from hermes.ports.model_lists import ServiceList
from hermes.ports.provider import Provider
from hermes.routing.model_facts import ModelFacts

_log = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder(dict[str, ServiceList]).decode
_MAX_BYTES = 67_108_864


def file_of(home: Path) -> Path:
    """Return where a home keeps the lists."""
    return home / "models.json"


def kept_lists(home: Path) -> Mapping[str, ServiceList]:
    """Return the lists of the last refresh; none if there was none or the file is damaged."""
    path = file_of(home)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("it is too large")
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        _log.warning("model_lists_unreadable", path=str(path), problem=str(error))
        return {}


async def keep_lists(home: Path, lists: Mapping[str, ServiceList]) -> None:
    """Write the lists so that the next start has them."""
    await asyncio.to_thread(write_durably, file_of(home), msgspec.json.encode(dict(lists)))


def make_refresh(
    providers: Mapping[str, Provider], *, facts: ModelFacts, home: Path, clock: Clock
) -> ModelRefresh:
    """Return what asks the services for their lists and keeps them in a home."""
    return ModelRefresh(
        providers, facts=facts, keep=lambda lists: keep_lists(home, lists), clock=clock
    )


async def refresh_here(loaded: LoadedConfig, order: RefreshOrder) -> RefreshReport:
    """Ask the services of a home where no gateway runs, and keep their lists."""
    settings = loaded.settings
    client = make_client(settings)
    try:
        registry = make_registry(settings, home=loaded.home, on_status=lambda _text: None)
        providers: dict[str, Provider] = {}
        try:
            add_providers(providers, settings, registry=registry, client=client)
            refresh = make_refresh(
                providers,
                facts=ModelFacts(settings.providers, kept_lists(loaded.home)),
                home=loaded.home,
                clock=SystemClock(),
            )
            return await refresh.run(order)
        finally:
            await stop_all(provider.close() for provider in providers.values())
    finally:
        await client.close()
