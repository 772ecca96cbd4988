"""The routes of the audit log, tokens, sessions, platforms, dead letters and the process itself."""

import msgspec
from starlette.routing import Route

from hermes.control.audit import AuditAsk, AuditOperations
from hermes.control.audited import Actor
from hermes.control.channels import ChannelOperations, ChannelOrder
from hermes.control.deadletters import DeadLetterOperations, LetterAsk, LetterOrder, LettersAsk
from hermes.control.graph_access import GraphOperations, GraphsOrder
from hermes.control.runtime import GatewayOperations, ModelOperations, RestartOrder, SwapOrder
from hermes.control.sends import DirectoryAsk, SendOperations, SendOrder
from hermes.control.sessions import SessionOperations, SessionOrder, SessionsAsk
from hermes.control.store_keys import RotationOrder
from hermes.control.tokens import MadeToken, NewToken, TokenEnd, TokenOperations
from hermes.http.route import Endpoint, Handler
from hermes.server.control_gate import ControlGate


class OperationRoutes(msgspec.Struct, frozen=True, kw_only=True):
    """The desks behind these routes."""

    audit: AuditOperations
    tokens: TokenOperations
    sessions: SessionOperations
    channels: ChannelOperations
    deadletters: DeadLetterOperations
    models: ModelOperations
    gateway: GatewayOperations
    sends: SendOperations
    graphs: GraphOperations


def operating_routes(gate: ControlGate, desks: OperationRoutes | None) -> tuple[Route, ...]:
    """Return the routes; none where there are no desks."""
    if desks is None:
        return ()
    return (
        _route("audit", GET=gate.asked("audit.list", AuditAsk, desks.audit.list)),
        *_token_routes(gate, desks.tokens),
        *_session_routes(gate, desks.sessions),
        *_channel_routes(gate, desks.channels),
        *_letter_routes(gate, desks.deadletters),
        *_send_routes(gate, desks.sends),
        *_graph_routes(gate, desks.graphs),
        _route("models/swap", POST=gate.ordered("models.swap", SwapOrder, desks.models.swap)),
        _route(
            "keys/rotate-store",
            POST=gate.ordered("gateway.rotate_keys", RotationOrder, desks.gateway.rotate_keys),
        ),
        _route(
            "restart", POST=gate.ordered("gateway.restart", RestartOrder, desks.gateway.restart)
        ),
    )


def _token_routes(gate: ControlGate, desk: TokenOperations) -> tuple[Route, ...]:
    async def create(new: NewToken, actor: Actor) -> MadeToken:
        return await desk.create(new, actor.credential)

    return (
        _route(
            "tokens",
            GET=gate.told("tokens.list", desk.list),
            POST=gate.ordered_by("tokens.create", NewToken, create),
        ),
        _route("tokens/revoke", POST=gate.ordered("tokens.revoke", TokenEnd, desk.revoke)),
    )


def _session_routes(gate: ControlGate, desk: SessionOperations) -> tuple[Route, ...]:
    return (
        _route("sessions", GET=gate.asked("sessions.list", SessionsAsk, desk.list)),
        _route("sessions/end", POST=gate.ordered("sessions.end", SessionOrder, desk.end)),
    )


def _channel_routes(gate: ControlGate, desk: ChannelOperations) -> tuple[Route, ...]:
    return (
        _route("channels", GET=gate.told("channels.list", desk.list)),
        _route("channels/pause", POST=gate.ordered("channels.pause", ChannelOrder, desk.pause)),
        _route("channels/resume", POST=gate.ordered("channels.resume", ChannelOrder, desk.resume)),
    )


def _send_routes(gate: ControlGate, desk: SendOperations) -> tuple[Route, ...]:
    listed = gate.asked("channels.directory", DirectoryAsk, desk.directory)
    return (
        _route("send", POST=gate.ordered("sends.send", SendOrder, desk.send)),
        _route("channels/directory", GET=listed),
    )


def _graph_routes(gate: ControlGate, desk: GraphOperations) -> tuple[Route, ...]:
    return (
        _route("graphs/show", POST=gate.ordered("graphs.show", GraphsOrder, desk.show)),
        _route("graphs/export", POST=gate.ordered("graphs.export", GraphsOrder, desk.export)),
    )


def _letter_routes(gate: ControlGate, desk: DeadLetterOperations) -> tuple[Route, ...]:
    ordered = gate.ordered
    return (
        _route("deadletters", GET=gate.asked("deadletters.list", LettersAsk, desk.list)),
        _route("deadletters/letter", GET=gate.asked("deadletters.show", LetterAsk, desk.show)),
        _route("deadletters/replay", POST=ordered("deadletters.replay", LetterOrder, desk.replay)),
        _route("deadletters/drop", POST=ordered("deadletters.drop", LetterOrder, desk.drop)),
    )


def _route(path: str, **handlers: Handler) -> Route:
    return Route(f"/control/{path}", Endpoint(handlers))
