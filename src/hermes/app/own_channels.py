"""Builds the channels whose requests come through the gateway's own server: REST, web, /v1, /mcp, A2A."""

from collections.abc import Iterable, Mapping
from functools import partial
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

from hermes import __version__
from hermes.app.gateway_parts import GatewayContext, Storage
from hermes.app.make_a2a import make_a2a_parts
from hermes.app.make_agents import make_roster
from hermes.app.make_pipeline import spec_of
from hermes.app.make_terminal import Terminal
from hermes.channels.rest.channel import RestChannel, RestSettings
from hermes.channels.web.channel import WebChannel, WebSettings
from hermes.control.sessions import session_id
from hermes.control.why import WhyReport, explain
from hermes.http.same_origin import Origins
from hermes.lazy import lazy
from hermes.message.ids import make_id
from hermes.net.client import HttpClient
from hermes.plugins.manifest import load_capabilities
from hermes.ports.clock import Clock
from hermes.ports.command import ChatCommand
from hermes.ports.gateway_api import GatewayApi
from hermes.server.a2a.channel import A2aChannel, A2aParts
from hermes.server.mcp.endpoint import McpEndpoint
from hermes.server.mcp.tools import McpParts, McpTools
from hermes.server.v1.agent_turns import AgentTurns
from hermes.server.v1.callers import Callers
from hermes.server.v1.channel import V1Channel
from hermes.server.v1.serve import V1Parts
from hermes.sessions.commands import CommandBook

if TYPE_CHECKING:
    from hermes.server.oidc.id_token import AllowedPeople
    from hermes.server.oidc.provider import OidcClient, OidcProvider
else:
    AllowedPeople = lazy("hermes.server.oidc.id_token:AllowedPeople")
    OidcClient = lazy("hermes.server.oidc.provider:OidcClient")
    OidcProvider = lazy("hermes.server.oidc.provider:OidcProvider")


# Any: each of them also has routes of its own kind.
def own_channels(
    context: GatewayContext,
    storage: Storage,
    *,
    origins: Origins,
    terminal: Terminal,
    client: HttpClient,
    commands: Iterable[ChatCommand] = (),
) -> dict[str, Any]:
    """Return the channels whose requests come through the gateway's own server."""
    limit, clock = context.settings.server.max_body_bytes, context.clock

    # One for all doors: what is left of a key's rate is kept there.
    shared: list[Callers] = []

    def callers(gateway_api: GatewayApi) -> Callers:
        if not shared:
            keys, runs = storage.store.keys, context.run_keys
            shared.append(Callers(keys, gateway_api=gateway_api, clock=clock, runs=runs))
        return shared[0]

    def v1_parts(gateway_api: GatewayApi) -> V1Parts:
        return _v1_parts(context, storage, callers=callers(gateway_api), gateway_api=gateway_api)

    def a2a_parts(gateway_api: GatewayApi) -> A2aParts:
        return make_a2a_parts(
            storage.store,
            context.settings,
            clock=clock,
            client=client,
            gateway_api=gateway_api,
            callers=callers(gateway_api),
        )

    def mcp(parts: V1Parts, gateway_api: GatewayApi) -> McpEndpoint:
        tools = _mcp_tools(storage, parts, gateway_api=gateway_api, clock=clock)
        return McpEndpoint(tools, parts.callers, origins=origins, body_bytes=limit)

    return {
        "rest": RestChannel(
            RestSettings(body_bytes=limit),
            capabilities=load_capabilities("hermes.channels.rest"),
            origins=origins,
            clock=clock,
            make_id=make_id,
            files=terminal.files,
            attachments=storage.media_cache,
        ),
        "web": _web(context, storage, origins=origins, commands=commands, client=client),
        "v1": V1Channel(v1_parts, mcp),
        "a2a": A2aChannel(a2a_parts),
    }


def _web(
    context: GatewayContext,
    storage: Storage,
    *,
    origins: Origins,
    commands: Iterable[ChatCommand],
    client: HttpClient,
) -> WebChannel:
    clock = context.clock
    book = CommandBook(map(spec_of, commands))
    listed = [{"name": one.name, "use": one.use, "about": one.about} for one in book]

    async def info() -> Mapping[str, Any]:
        model, is_demonstration = await storage.model_reports.who_answers()
        earlier = context.settings.memory.earlier_messages
        files = {"most": storage.media_cache.most_files, "bytes": storage.media_cache.most_bytes}
        own = {"version": __version__, "earlier_messages": earlier, "files": files}
        return {"model": model, "demo": is_demonstration, **own}

    async def menu() -> Mapping[str, Any]:
        return {"commands": listed, "models": await storage.models.planner.names()}

    async def story(message_id: str) -> WhyReport:
        return await explain(storage.store, message_id, now=clock.now(), include_text=True)

    return WebChannel(
        WebSettings(body_bytes=context.settings.server.max_body_bytes),
        capabilities=load_capabilities("hermes.channels.web"),
        access=storage.access,
        info=info,
        story=story,
        origins=origins,
        clock=clock,
        make_id=make_id,
        files=storage.media_cache,
        menu=menu,
        provider=_identity_provider(context, storage, client=client),
    )


def _identity_provider(
    context: GatewayContext, storage: Storage, *, client: HttpClient
) -> "OidcProvider | None":
    """Return who else knows people, if the settings name one."""
    oidc = context.settings.access.oidc
    if oidc.issuer is None or oidc.client_id is None:
        return None
    name, secrets = oidc.secret, storage.secrets
    return OidcProvider(
        OidcClient(
            issuer=str(oidc.issuer),
            client_id=oidc.client_id,
            secret=lambda: None if name is None else secrets.get(name, agent=None),
            scopes=oidc.scopes,
            allowed=AllowedPeople(
                emails=frozenset(one.casefold() for one in oidc.emails),
                domains=frozenset(one.casefold() for one in oidc.domains),
                groups=frozenset(oidc.groups),
                groups_claim=oidc.groups_claim,
                everyone=oidc.everyone,
            ),
        ),
        name=oidc.name,
        http=client,
        clock=context.clock,
        random_bytes=token_bytes,
    )


def _mcp_tools(
    storage: Storage, parts: V1Parts, *, gateway_api: GatewayApi, clock: Clock
) -> McpTools:
    return McpTools(
        McpParts(
            gateway_api=gateway_api,
            roster=parts.roster,
            users=storage.store.users,
            sessions=storage.store.open_sessions,
            search=storage.search,
            session_id=partial(session_id, storage.store),
            clock=clock,
            make_id=make_id,
        )
    )


def _v1_parts(
    context: GatewayContext, storage: Storage, *, callers: Callers, gateway_api: GatewayApi
) -> V1Parts:
    """Return the dependencies of the endpoints under /v1."""
    store, models = storage.store, storage.models
    return V1Parts(
        callers=callers,
        planner=models.planner,
        calls=models.calls,
        embeddings=models.embeddings,
        ledger=models.ledger,
        turns=AgentTurns(gateway_api, clock=context.clock, make_id=make_id),
        settings=context.settings,
        clock=context.clock,
        make_id=make_id,
        responses=store.responses,
        roster=make_roster(store, context.settings),
    )
