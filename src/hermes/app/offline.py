"""The journal's files while no gateway runs: opened only if the OS lock is free."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import msgspec

from hermes.agents.secrets import mask_of
from hermes.app.make_agents import make_agent_operations, make_roster
from hermes.app.make_courier import make_send_operations
from hermes.app.make_operations import make_audited, make_secret_operations
from hermes.app.make_schedule import make_cron_operations, make_schedules
from hermes.app.make_search import open_search
from hermes.app.make_skills import make_skill_folder, make_skill_operations
from hermes.app.media import forgetting_files
from hermes.app.one_shot import OneShotSender
from hermes.app.sent_files import adopting, kept_files
from hermes.app.store_files import DATABASE, check_database, open_graph_reader, open_store
from hermes.calls.days import Calendar
from hermes.config import LoadedConfig, Settings, ensure_home
from hermes.config.plugin_files import plugin_manifests
from hermes.config.settings import tier_names
from hermes.control.audited import Operator
from hermes.control.operations import Operations, uncached_facts
from hermes.control.order import local_actor
from hermes.control.runtime import RuntimeHandles
from hermes.control.search import SearchOperations
from hermes.errors import AlreadyRunning
from hermes.memory.sanitiser import TextLimits
from hermes.memory.structural import FactKeys
from hermes.message.channel_name import platform_of
from hermes.message.ids import make_id
from hermes.ops.instance import GatewayAddress, Instance, acquire, find_running
from hermes.plugins.manifest import load_capabilities, load_capabilities_at, manifests_in
from hermes.ports.adapter import NATIVE
from hermes.ports.channel import Capabilities
from hermes.ports.clock import SystemClock
from hermes.ports.person_rows import HomeReader
from hermes.ports.store import Store
from hermes.store.search.notes import Notes

# A command that sends has the home for as long as a connection takes.
_OTHER_COMMAND_S = 20.0
_LOOK_AGAIN_S = 0.05


@contextmanager
def offline_store(loaded: LoadedConfig, *, create: bool = False) -> Iterator[Store | None]:
    """Open the journal of a home; return None if there is none and it should not be created."""
    if create:
        ensure_home(loaded.home)
    elif not (loaded.home / DATABASE).exists():
        check_database(loaded.home)
        yield None
        return
    instance = _acquired(loaded.home)
    try:
        store = open_store(loaded.home, loaded.settings, clock=SystemClock(), make_id=make_id)
        try:
            yield store
        finally:
            asyncio.run(store.close())
    finally:
        instance.release()


def _acquired(home: Path) -> Instance:
    """Take the lock of a home; wait for another command, but not for a gateway."""
    clock = SystemClock()
    until = clock.monotonic() + _OTHER_COMMAND_S
    while True:
        try:
            return acquire(home)
        except AlreadyRunning:
            running = find_running(home)
            is_gateway = running is not None and running.address is not None
            if is_gateway or clock.monotonic() > until:
                raise
        Event().wait(_LOOK_AGAIN_S)


@contextmanager
def offline_graph_reader(loaded: LoadedConfig) -> Iterator[HomeReader | None]:
    """Open the message graphs of a home, also while a gateway runs; None if there are none.

    Nothing is locked or written, so that a long export blocks nobody.
    """
    if not (loaded.home / DATABASE).exists():
        check_database(loaded.home)
        yield None
        return
    reader = open_graph_reader(loaded.home)
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def offline_operator(
    loaded: LoadedConfig, *, create: bool, operator: str = ""
) -> Iterator[Operator | None]:
    """Open a home for the orders of its owner; None if nothing is stored there and nothing is
    created.

    The audit log names the owner as the operator.
    """
    with offline_store(loaded, create=create) as store:
        if store is None:
            yield None
            return
        search = open_search(loaded.home, loaded.settings, notes=Notes(), clock=SystemClock())
        try:
            operations = _operations(
                store, loaded, search=SearchOperations(store, search, fills=True)
            )
            audited = make_audited(store, loaded.settings, clock=SystemClock(), make_id=make_id)
            yield Operator(
                operations,
                local_actor(operator),
                audited=audited,
                mask=partial(_without_secrets, store),
            )
        finally:
            if search is not None:
                asyncio.run(search.close())


# Any: reports are of many types.
async def _without_secrets(store: Store, report: Any) -> Any:
    mask = mask_of(await store.secrets.values())
    masked = mask.report(report)
    return report if masked is report else msgspec.convert(masked, type(report))


def _operations(store: Store, loaded: LoadedConfig, *, search: SearchOperations) -> Operations:
    settings = loaded.settings
    return Operations(
        store,
        calendar=Calendar(settings.time_zone),
        clock=SystemClock(),
        make_id=make_id,
        address=_address(settings),
        facts=uncached_facts(
            store,
            clock=SystemClock(),
            make_id=make_id,
            limits=TextLimits(settings.memory.value_chars, settings.memory.key_chars),
            keys=FactKeys(settings.memory.facts),
        ),
        tiers=tier_names(settings),
        credit_settings=settings.credits,
        day_cap_usd=settings.budgets.platform_day_usd,
        pairing_settings=settings.access.pairing,
        search=search,
        forget_files=forgetting_files(loaded.home),
        cron=make_cron_operations(store, settings, make_schedules(store, settings)),
        handles=RuntimeHandles(
            platforms=("rest", "web", *settings.channels), abilities=_abilities(loaded)
        ),
        secret_operations=make_secret_operations(store, loaded, clock=SystemClock()),
        agents=make_agent_operations(
            store,
            settings,
            clock=SystemClock(),
            make_id=make_id,
            runtimes=(NATIVE, *settings.adapters),
        ),
        skills=make_skill_operations(
            settings,
            make_skill_folder(loaded.home, clock=SystemClock()),
            make_roster(store, settings),
        ),
        sends=make_send_operations(
            store,
            settings,
            home=loaded.home,
            clock=SystemClock(),
            make_id=make_id,
            deliver=OneShotSender(store, loaded, clock=SystemClock()).deliver,
            adopt=adopting(kept_files(loaded.home, settings)),
        ),
    )


def _abilities(loaded: LoadedConfig) -> dict[str, Capabilities]:
    """Return what each configured channel can do, those of plugins included; run no plugin."""
    channels = ("rest", "web", *loaded.settings.channels)
    named = set(map(platform_of, channels))
    built_in = {
        name: load_capabilities(one.package, one.file)
        for name, one in manifests_in("hermes.channels").items()
        if name in named
    }
    files = plugin_manifests(loaded.settings.plugins, loaded.home)
    plugged = {name: load_capabilities_at(file) for name, file in files.items() if name in named}
    known = built_in | {name: one for name, one in plugged.items() if one is not None}
    return {name: known[platform_of(name)] for name in channels if platform_of(name) in known}


def _address(settings: Settings) -> str:
    """Return the gateway's future address, as far as the settings name it."""
    server = settings.server
    if server.public_url is not None:
        return str(server.public_url).rstrip("/")
    url = GatewayAddress(
        host=server.host, port=server.port, token="", version="", started_at=0.0
    ).url
    return url if server.port else url.removesuffix("0") + "PORT"
