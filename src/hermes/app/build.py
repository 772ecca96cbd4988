"""Builds the parts of a gateway from its configuration; `gateway.py` starts and stops them.

A part that holds a file, a thread or a connection from the start is passed to the lifecycle at
once.
"""

import os
from functools import partial

import structlog
from starlette.types import ASGIApp

from hermes import __version__
from hermes.agents.secrets import Secrets
from hermes.app.adapters import (
    add_built_in_tools,
    add_providers,
    make_client,
    make_embedder,
    make_mcp,
    make_provider,
    make_registry,
)
from hermes.app.connect import Connections
from hermes.app.core import Core, build_core
from hermes.app.core_parts import CoreParts
from hermes.app.credential_locks import make_rights
from hermes.app.gateway_parts import Adapters, Channels, GatewayContext, GatewayParts, Storage
from hermes.app.lifecycle import Lifecycle, stop_all
from hermes.app.make_a2a import add_remote_agents
from hermes.app.make_agents import check_runtimes
from hermes.app.make_hooks import GatewayHooks, make_hooks
from hermes.app.make_models import ModelLayer, make_model_layer
from hermes.app.make_observability import Observability, make_observing, watch_core
from hermes.app.make_operations import make_audited
from hermes.app.make_programs import Programs, add_programs
from hermes.app.make_search import open_search
from hermes.app.make_skills import make_skills, warn_of_missing
from hermes.app.make_terminal import Terminal, make_terminal
from hermes.app.media import make_media_cache
from hermes.app.model_lists import kept_lists
from hermes.app.own_channels import own_channels
from hermes.app.platforms import make_push_channels, plugged_platforms
from hermes.app.provider_keys import ProviderKeys
from hermes.app.renewal import Renewal
from hermes.app.store_files import open_store
from hermes.calls.agent_providers import AgentProviders
from hermes.config.provider_keys import known_providers
from hermes.control.gateway_reports import (
    GatewayReports,
    ModelReports,
    memory_status,
    provider_states,
)
from hermes.control.mcp import McpOperations
from hermes.control.reload import ReloadOperations
from hermes.control.sessions import session_id
from hermes.control.sign_in import SignInOperations
from hermes.control.status import ChannelStatus, LiveStatus, ProcessStatus
from hermes.http.same_origin import Origins
from hermes.media.turn_media import TurnMedia
from hermes.message.ids import make_id
from hermes.ops.alerts import Alerts
from hermes.pipeline.watch import WatchHub
from hermes.plugins.registry import Registry
from hermes.ports.channel import WebhookChannel
from hermes.ports.media import LocatePicture
from hermes.ports.provider import Provider
from hermes.ports.secrets import EVERY_AGENT
from hermes.ports.store import Store
from hermes.ports.tool import ToolContext
from hermes.ports.upward import Progress
from hermes.routing.model_facts import ModelFacts
from hermes.server.app import build_model_app
from hermes.server.auth import StoredAccess
from hermes.server.listen import Listener, address_of, bind
from hermes.skills.book import SkillBook
from hermes.store.search.notes import Notes
from hermes.store.sql.transcripts import no_listener
from hermes.tools.mcp.chat_offers import ChatOffers
from hermes.tools.mcp.grants import StoredGrants
from hermes.tools.together import ToolsTogether

_log = structlog.get_logger(__name__)


async def build_gateway(context: GatewayContext, lifecycle: Lifecycle) -> GatewayParts:
    """Build a gateway; the lifecycle releases everything that was built, also if this fails."""
    started_at = context.clock.now()
    listener = _listen(context, lifecycle)
    adapters = _adapters(context, lifecycle)
    storage = await _storage(context, adapters, lifecycle=lifecycle)
    terminal = _terminal(context, adapters, storage=storage)
    address = "" if listener is None else address_of(listener)
    programs = _programs(context, adapters, storage=storage, terminal=terminal, address=address)
    channels = await _channels(context, adapters, storage=storage, terminal=terminal)
    lifecycle.own("v1", channels.own["v1"].disconnect)
    core = await _core(context, adapters, storage=storage, channels=channels, terminal=terminal)
    programs.models.make_app = partial(_model_app, core, channels)
    alerts = _alerts(context, adapters, storage=storage, core=core, started_at=started_at)
    connections = _connections(context, adapters, channels=channels, core=core)
    _count(adapters, storage, connections)
    return GatewayParts(
        context=context,
        adapters=adapters,
        storage=storage,
        channels=channels,
        core=core,
        programs=programs,
        alerts=alerts,
        connections=connections,
        reload=_reload(
            context, adapters, storage=storage, channels=channels, connections=connections
        ),
        reports=_reports(
            context,
            adapters,
            core=core,
            connections=connections,
            address=address,
            started_at=started_at,
        ),
        sign_in=_sign_in(context, storage, address),
        address=address,
        public_address=_public_address(context, address),
        listener=listener,
        started_at=started_at,
        answers=await storage.model_reports.who_answers(),
    )


def _alerts(
    context: GatewayContext,
    adapters: Adapters,
    *,
    storage: Storage,
    core: Core,
    started_at: float,
) -> Alerts:
    return watch_core(
        storage.observing,
        core,
        settings=context.settings,
        home=context.home,
        client=adapters.client,
        clock=context.clock,
        make_id=make_id,
        mask=context.mask,
        started_at=started_at,
    )


def _public_address(context: GatewayContext, address: str) -> str:
    public = context.settings.server.public_url
    return address if public is None else str(public).rstrip("/")


def _count(adapters: Adapters, storage: Storage, connections: Connections) -> None:
    """Let the metrics count what hooks and connections do."""
    adapters.hooks.count_in(storage.observing.metrics)
    storage.observing.metrics.include(*connections.readers())


def _sign_in(context: GatewayContext, storage: Storage, address: str) -> SignInOperations:
    return SignInOperations(storage.access, address=_public_address(context, address))


def _listen(context: GatewayContext, lifecycle: Lifecycle) -> Listener | None:
    if not context.listen:
        return None
    listener = bind(context.settings.server.host, context.settings.server.port)
    lifecycle.own("listener", listener.close)
    return listener


def _adapters(context: GatewayContext, lifecycle: Lifecycle) -> Adapters:
    """Build what comes from plugins and the configuration."""
    settings, watch = context.settings, WatchHub()

    def tell_status(text: str) -> None:
        _log.info("model_status", status=text)
        watch.broadcast(Progress(kind="status", text=text))

    def tell_progress(tool: ToolContext, text: str) -> None:
        watch.publish(tool.turn_id, Progress(kind="status", text=text))

    client = make_client(settings)
    lifecycle.own("client", client.close)
    registry = make_registry(settings, home=context.home, on_status=tell_status)
    add_built_in_tools(settings, registry, client=client)
    for tool in context.tools:
        registry.tool(tool)
    hooks = GatewayHooks(make_hooks(settings, registry, home=context.home), mask=context.mask)
    configured: dict[str, Provider] = {}
    lifecycle.own("providers", lambda: stop_all(one.close() for one in configured.values()))
    add_providers(configured, settings, registry=registry, client=client)
    embedder = make_embedder(settings)
    if embedder is not None:
        lifecycle.own("embedder", embedder.close)
    mcp = make_mcp(
        settings,
        clock=context.clock,
        tell=tell_progress,
        home=context.home,
        mask=context.stored_mask.text,
    )
    return Adapters(
        watch=watch,
        client=client,
        registry=registry,
        hooks=hooks,
        skills=_skills(context, registry),
        providers=AgentProviders(configured),
        embedder=embedder,
        mcp=mcp,
        mcp_operations=McpOperations(mcp, context.loaded, reread=context.read_again),
    )


async def _storage(context: GatewayContext, adapters: Adapters, *, lifecycle: Lifecycle) -> Storage:
    """Open the store, recover it, and build the parts that need only it and the adapters."""
    settings, clock, notes = context.settings, context.clock, Notes()
    store = open_store(
        context.home,
        settings,
        clock=clock,
        make_id=make_id,
        choices=context.loaded.choices,
        on_open=lambda store: lifecycle.own("store", store.close),
        on_commit=notes.add if settings.search.enabled else no_listener,
    )
    observing = make_observing(
        settings,
        store,
        client=adapters.client,
        clock=clock,
        cases=context.cases,
        logs=context.logs,
    )
    context.run_state.found(await store.fleet.join(make_id("n")))
    secrets = await _secrets(context, store, adapters=adapters, lifecycle=lifecycle)
    remote_agents = add_remote_agents(adapters.registry, client=adapters.client, secrets=secrets)
    search = open_search(context.home, settings, notes=notes, clock=clock)
    if search is not None:
        lifecycle.own("search", search.close)
    media_cache = make_media_cache(
        context.home, settings, client=adapters.client, store=store, clock=clock
    )
    models = _models(
        context, store, adapters=adapters, observing=observing, locate=media_cache.located
    )
    await models.swaps.restore()
    return Storage(
        store=store,
        secrets=secrets,
        remote_agents=remote_agents,
        search=search,
        observing=observing,
        audited=make_audited(store, settings, clock=clock, make_id=make_id),
        access=StoredAccess(store.access, clock=clock, local_token=context.local_token),
        media_cache=media_cache,
        models=models,
        model_reports=ModelReports(
            settings,
            providers=adapters.providers,
            planner=models.planner,
            deployments=models.deployments,
        ),
    )


def _models(
    context: GatewayContext,
    store: Store,
    *,
    adapters: Adapters,
    observing: Observability,
    locate: LocatePicture,
) -> ModelLayer:
    """Return the model layer, which also knows the services that only lack a key."""
    tables = known_providers(context.settings.providers)
    return make_model_layer(
        store,
        context.settings.model_copy(update={"providers": tables}),
        providers=adapters.providers,
        clock=context.clock,
        meter=observing.metrics,
        facts=ModelFacts(tables, kept_lists(context.home)),
        locate=locate,
        mask=context.stored_mask,
    )


async def _secrets(
    context: GatewayContext, store: Store, *, adapters: Adapters, lifecycle: Lifecycle
) -> Secrets:
    """Return the stored secrets; from now on they are masked, and models and MCP servers use them."""
    if context.logs is not None:
        context.logs.name_stored(context.stored_mask.text)
    secrets = Secrets(
        store.secrets,
        feed=store.feed,
        mask=context.stored_mask,
        variable=context.loaded.variable,
    )
    keys = ProviderKeys(
        known_providers(context.settings.providers),
        adapters.providers,
        make=partial(make_provider, registry=adapters.registry, client=adapters.client),
        secrets=secrets,
    )
    lifecycle.own("provider keys", keys.close)
    secrets.on_change(keys.apply)
    secrets.on_change(partial(_name_for_mcp, secrets, adapters.mcp_operations))
    await secrets.refresh()
    adapters.mcp_operations.prepare()
    adapters.mcp_operations.keep_grants(
        StoredGrants(store.secrets, fleet=store.fleet, clock=context.clock)
    )
    secrets.follow(adapters.mcp_operations.use_secrets)
    return secrets


def _name_for_mcp(secrets: Secrets, operations: McpOperations) -> None:
    operations.secrets = secrets.of(EVERY_AGENT)


def _skills(context: GatewayContext, registry: Registry) -> SkillBook:
    """Return the skills of the home, which are read now."""
    skills = make_skills(
        context.settings, home=context.home, clock=context.clock, plugged=registry.commands
    )
    warn_of_missing(context.settings, skills)
    return skills


def _terminal(context: GatewayContext, adapters: Adapters, *, storage: Storage) -> Terminal:
    return make_terminal(
        storage.store,
        context.settings,
        home=context.home,
        clock=context.clock,
        run=storage.store.fleet.node,
        skills=adapters.skills.folders,
    )


def _programs(
    context: GatewayContext,
    adapters: Adapters,
    *,
    storage: Storage,
    terminal: Terminal,
    address: str,
) -> Programs:
    """Add the programs that answer agents to the adapters."""
    programs = add_programs(
        context.settings,
        adapters.registry,
        home=context.home,
        terminal=terminal,
        keys=context.run_keys,
        address=address,
        mask=context.stored_mask,
        read_media=lambda media, limit: storage.media_cache.read(media, limit=limit),
    )
    check_runtimes(context.settings, adapters.registry.adapters)
    return programs


def _model_app(core: Core, channels: Channels) -> ASGIApp:
    routes = channels.own["v1"].model_routes(core.gateway_api)
    return build_model_app(routes, origins=channels.origins, make_id=make_id)


async def _channels(
    context: GatewayContext, adapters: Adapters, *, storage: Storage, terminal: Terminal
) -> Channels:
    """Build the channels of the server and of every enabled platform."""
    settings = context.settings
    public_url = settings.server.public_url
    origins = Origins(
        bound_host=settings.server.host,
        public_url=None if public_url is None else str(public_url),
        trusted_proxies=settings.server.trusted_proxies,
    )
    own = own_channels(
        context,
        storage,
        origins=origins,
        terminal=terminal,
        client=adapters.client,
        commands=adapters.registry.commands.values(),
    )
    pushed = await make_push_channels(
        settings,
        adapters.registry,
        client=adapters.client,
        home=context.home,
        clock=context.clock,
        media_cache=storage.media_cache,
        outbox=storage.store.outbox,
        states=storage.store.channel_state,
    )
    return Channels(
        origins=origins,
        own=own,
        pushed=pushed,
        every={**own, **pushed},
        webhooks={name: one for name, one in pushed.items() if isinstance(one, WebhookChannel)},
    )


def _running(core: Core) -> tuple[ProcessStatus, ...]:
    """Return the background processes that run now, with the ids of their sessions."""
    running = () if core.terminal is None else core.terminal.processes.running()
    return tuple(
        ProcessStatus(
            id=one.id,
            session=session_id(core.store, one.lane),
            started_at=one.started_at,
        )
        for one in running
    )


async def _core(
    context: GatewayContext,
    adapters: Adapters,
    *,
    storage: Storage,
    channels: Channels,
    terminal: Terminal,
) -> Core:
    given = CoreParts(
        providers=adapters.providers,
        tools=ToolsTogether(adapters.registry.tools, adapters.mcp.tools()),
        channels=channels.every,
        access=storage.access,
        watch=adapters.watch,
        clock=context.clock,
        make_id=make_id,
        home=context.home,
        models=storage.models,
        embedder=adapters.embedder,
        own_tools=True,
        meter=storage.observing.metrics,
        reload_mcp=adapters.mcp_operations.reload,
        mcp=ChatOffers(adapters.mcp),
        on_record=storage.audited.by_chat,
        adapters=adapters.registry.adapters,
        visions=adapters.registry.visions,
        plugged=adapters.registry.commands,
        search=storage.search,
        terminal=terminal,
        skills=adapters.skills,
        media=TurnMedia(storage.media_cache, channels.every),
        reply_files=storage.media_cache,
        comeback=context.run_state.comeback,
        restart=context.restart,
        observer=storage.observing.observer,
        hooks=adapters.hooks.book,
        mask=context.mask,
        mask_result=context.stored_mask.masked,
    )
    return await build_core(storage.store, context.settings, given=given)


def _connections(
    context: GatewayContext, adapters: Adapters, *, channels: Channels, core: Core
) -> Connections:
    """Build the connections of the platforms."""

    def tell(states: tuple[ChannelStatus, ...]) -> None:
        context.run_state.stands("draining" if core.inbox.draining else "connected", states)

    settings, registry = context.settings, adapters.registry
    return Connections(
        channels.pushed,
        accept=core.maintenance.directory.noticing(core.inbox.accept),
        on_connected=core.push.connected,
        on_lost=core.push.lost,
        on_change=tell,
        traffic=core.push.traffic,
        clock=context.clock,
        rights=make_rights(settings, registry, home=context.home, clock=context.clock),
        plugins=plugged_platforms(settings, registry),
        breaker=core.push.breaker_of,
        connect_timeouts_s={name: one.connect_timeout_s for name, one in settings.channels.items()},
    )


def _reload(
    context: GatewayContext,
    adapters: Adapters,
    *,
    storage: Storage,
    channels: Channels,
    connections: Connections,
) -> ReloadOperations:
    renewal = Renewal(
        settings=context.settings,
        registry=adapters.registry,
        client=adapters.client,
        home=context.home,
        clock=context.clock,
        media_cache=storage.media_cache,
        outbox=storage.store.outbox,
        states=storage.store.channel_state,
        channels=channels.every,
        webhooks=channels.webhooks,
        connections=connections,
    )
    return ReloadOperations(
        context.settings,
        reread=context.read_again,
        mcp=adapters.mcp_operations,
        set_level=context.set_level,
        renew=renewal.renew,
    )


def _reports(
    context: GatewayContext,
    adapters: Adapters,
    *,
    core: Core,
    connections: Connections,
    address: str,
    started_at: float,
) -> GatewayReports:
    async def live() -> LiveStatus:
        return LiveStatus(
            pid=os.getpid(),
            version=__version__,
            address=address,
            started_at=started_at,
            state="draining" if core.inbox.draining else "connected",
            running_turns=core.lanes.running(),
            providers=await provider_states(adapters.providers, core.models.deployments.resting()),
            channels=connections.states(),
            memory=memory_status(
                core.memory.recall,
                context.settings.memory,
                parked_jobs=await core.store.jobs.parked(),
            ),
            model_swap=core.models.swaps.status(),
            note=context.run_state.note,
            hooks_off=adapters.hooks.off(),
            processes=_running(core),
        )

    return GatewayReports(
        core.store,
        home=str(context.home),
        live=live,
        clock=context.clock,
    )
