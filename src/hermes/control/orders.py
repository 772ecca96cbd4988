"""The table of operator orders: one row for each, and nothing else to add for a new one.

A row has the order's name, its lowest role, its method and path, the types of its request and its
report, the function that runs it, what the audit log keeps of it, and a line of help.
"""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final

from hermes.control import (
    audit,
    channels,
    consent,
    cron,
    deadletters,
    graph_access,
    hooks,
    interactions,
    keys,
    memory,
    models,
    pairing,
    runtime,
    sends,
    sessions,
    spending,
    status,
    store_keys,
    tokens,
    users,
    why,
)
from hermes.control import credits as credit
from hermes.control.operations import Operations
from hermes.control.order import Actor, AnyOrder, NoFields, Order, Report, Request
from hermes.control.person_record import PersonRecord
from hermes.control.search import SearchOrder
from hermes.ports.access import Role
from hermes.ports.search import IndexState, SearchResult
from hermes.ports.wallet import Audit
from hermes.routing.plan import CallNeeds
from hermes.tools.mcp.report import Diff, McpReport

_PERSON: Final = ("person_id",)
_USER: Final = ("user.id",)
_rows: list[AnyOrder] = []


def _row(
    name: str,
    least: Role,
    *,
    get: str = "",
    post: str = "",
    request: type[Request],
    report: type[Report],
    run: Callable[[Operations, Request, Actor], Awaitable[Report]],
    summary: str,
    changes: bool = False,
    shows: bool = False,
    targets: tuple[str, ...] = (),
    result_targets: tuple[str, ...] = (),
    result_models: tuple[str, ...] = (),
) -> Order[Request, Report]:
    """Add a row to the table; `get` or `post` is its path."""
    order = Order(
        name=name,
        least=least,
        method="GET" if get else "POST",
        path=get or post,
        request=request,
        report=report,
        run=run,
        summary=summary,
        changes=changes,
        shows=shows,
        targets=targets,
        result_targets=result_targets,
        result_models=result_models,
    )
    _rows.append(order)
    return order


# A table of five lines a row; the formatter would make it twelve.
# fmt: off
GATEWAY_STATUS = _row(
    "gateway.status", "viewer", get="/control/status",
    request=NoFields, report=status.StatusReport,
    run=lambda do, _, _actor: do.gateway.status(),
    summary="Show how the gateway is doing: channels, models, store, running turns.")
GATEWAY_RESTART = _row(
    "gateway.restart", "operator", post="/control/restart",
    request=runtime.RestartOrder, report=runtime.RestartReport, changes=True,
    run=lambda do, request, _actor: do.gateway.restart(request),
    summary="Finish running turns and restart.")
GATEWAY_RELOAD = _row(
    "gateway.reload", "operator", post="/control/reload",
    request=NoFields, report=runtime.ReloadReport, changes=True,
    run=lambda do, _, _actor: do.gateway.reload(),
    summary="Reload the configuration; list settings that need a restart.")
GATEWAY_ROTATE_KEYS = _row(
    "gateway.rotate_keys", "owner", post="/control/keys/rotate-store",
    request=store_keys.RotationOrder, report=store_keys.RotationReport, changes=True,
    run=lambda do, request, _actor: do.gateway.rotate_keys(request),
    summary="Give the store a new encryption key.")
MODELS_LIST = _row(
    "models.list", "viewer", get="/control/models",
    request=NoFields, report=models.ModelsReport,
    run=lambda do, _, _actor: do.models.list(),
    summary="List the model services and whether they can be called now.")
MODELS_ROUTE = _row(
    "models.route", "viewer", post="/control/route",
    request=CallNeeds, report=models.RouteReport,
    run=lambda do, request, _actor: do.models.route(request),
    summary="Show which models a call would use, and why.")
MODELS_SWAP = _row(
    "models.swap", "operator", post="/control/models/swap",
    request=runtime.SwapOrder, report=runtime.SwapReport, changes=True, result_models=("model",),
    run=lambda do, request, _actor: do.models.swap(request),
    summary="Change the default model until the gateway ends.")
HOOKS_LIST = _row(
    "hooks.list", "viewer", get="/control/hooks",
    request=NoFields, report=hooks.HooksReport,
    run=lambda do, _, _actor: do.gateway.hooks(),
    summary="List the hooks and how their calls went.")
MCP_STATUS = _row(
    "mcp.status", "viewer", get="/control/mcp",
    request=NoFields, report=McpReport,
    run=lambda do, _, _actor: do.gateway.mcp_status(),
    summary="List the MCP servers and their tools.")
MCP_RELOAD = _row(
    "mcp.reload", "operator", post="/control/mcp/reload",
    request=NoFields, report=Diff, changes=True,
    run=lambda do, _, _actor: do.gateway.mcp_reload(),
    summary="Read the MCP servers from the configuration again and start those that changed.")
MESSAGES_WHY = _row(
    "messages.why", "viewer", get="/control/why/{id:path}",
    request=why.WhyAsk, report=why.WhyReport,
    run=lambda do, request, _actor: do.why(request),
    summary="Explain what happened to a message, a refusal or a call, without what was said.")
MESSAGES_READ = _row(
    "messages.read", "operator", get="/control/why/{id:path}?text=true",
    request=why.WhyAsk, report=why.WhyReport, shows=True, targets=("id",),
    run=lambda do, request, _actor: do.why_in_full(request),
    summary="Explain what happened to a message, with what was said.")
INTERACTIONS_LIST = _row(
    "interactions.list", "operator", get="/control/interactions",
    request=interactions.InteractionAsk, report=interactions.InteractionsReport,
    run=lambda do, request, _actor: do.interactions(request),
    summary="List turns with the agent, model and tools that answered them.")
ACCESS_LINK = _row(
    "access.link", "owner", post="/control/link",
    request=tokens.LinkWish, report=tokens.SignInLink, changes=True, targets=("revoke_others",),
    run=lambda do, request, actor: do.gateway.link(request, actor.credential),
    summary="Make a one-time sign-in link for the web chat.")
TOKENS_LIST = _row(
    "tokens.list", "owner", get="/control/tokens",
    request=NoFields, report=tokens.TokensReport,
    run=lambda do, _, _actor: do.tokens.list(),
    summary="List the tokens and the browsers that are signed in.")
TOKENS_CREATE = _row(
    "tokens.create", "owner", post="/control/tokens",
    request=tokens.NewToken, report=tokens.MadeToken, changes=True, result_targets=("token.id",),
    run=lambda do, request, actor: do.tokens.create(request, actor.credential),
    summary="Make a token with a role; its secret is shown only now.")
TOKENS_CREATE_OWNER = _row(
    "tokens.create", "owner", post="/control/token",
    request=NoFields, report=tokens.TokenSecret, changes=True,
    run=lambda do, _, actor: do.tokens.create_owner(actor.credential),
    summary="Make a token of the owner; its secret is shown only now.")
TOKENS_REVOKE = _row(
    "tokens.revoke", "owner", post="/control/tokens/revoke",
    request=tokens.TokenEnd, report=tokens.EndedToken,
    changes=True, targets=("id", "sessions", "tokens"),
    run=lambda do, request, _actor: do.tokens.revoke(request),
    summary="Revoke a token or a browser session, or all of a kind.")
KEYS_LIST = _row(
    "keys.list", "viewer", get="/control/keys",
    request=NoFields, report=keys.KeysReport,
    run=lambda do, _, _actor: do.keys(),
    summary="List the keys of /v1 and what each has used.")
KEYS_CREATE = _row(
    "keys.create", "operator", post="/control/keys",
    request=keys.NewKey, report=keys.MadeKey,
    changes=True, result_targets=("key.id", "key.person_id"),
    run=lambda do, request, _actor: do.create_key(request),
    summary="Make a key for /v1; its secret is shown only now.")
KEYS_REVOKE = _row(
    "keys.revoke", "operator", post="/control/keys/revoke",
    request=keys.KeyEnd, report=keys.EndedKey, changes=True, targets=("id",),
    run=lambda do, request, _actor: do.revoke_key(request),
    summary="Revoke a key of /v1.")
KILL_SWITCH_SHOW = _row(
    "kill_switch.show", "viewer", get="/control/kill-switch",
    request=NoFields, report=spending.SwitchReport,
    run=lambda do, _, _actor: do.kill_switch(),
    summary="Show whether model calls are stopped.")
KILL_SWITCH_SET = _row(
    "kill_switch.set", "operator", post="/control/kill-switch",
    request=spending.SwitchOrder, report=spending.SwitchReport, changes=True, targets=("is_on",),
    run=lambda do, request, _actor: do.set_kill_switch(request),
    summary="Stop every model call, or allow them again.")
COSTS_SHOW = _row(
    "costs.show", "viewer", get="/control/costs",
    request=spending.CostAsk, report=spending.CostsReport,
    run=lambda do, request, _actor: do.costs(request),
    summary="Show what model calls cost, by model, person, key or day.")
CONSENT_SHOW = _row(
    "consent.show", "operator", get="/control/consent",
    request=consent.ConsentAsk, report=consent.ConsentReport,
    run=lambda do, request, _actor: do.consent(request),
    summary="Show whether a person's conversations may be used for training.")
CONSENT_SET = _row(
    "consent.set", "operator", post="/control/consent",
    request=consent.ConsentOrder, report=consent.ConsentReport,
    changes=True, targets=("user", "may_train"),
    run=lambda do, request, _actor: do.set_consent(request),
    summary="Record or withdraw a person's consent to training.")
CREDITS_LIST = _row(
    "credits.list", "operator", get="/control/credits",
    request=credit.WalletsAsk, report=credit.WalletsReport,
    run=lambda do, request, _actor: do.credits.list(request),
    summary="List the wallets, those with the fewest credits first.")
CREDITS_SHOW = _row(
    "credits.show", "operator", get="/control/credits/wallet",
    request=credit.WalletAsk, report=credit.WalletReport,
    run=lambda do, request, _actor: do.credits.show(request),
    summary="Show a person's credits and their last bookings.")
CREDITS_AUDIT = _row(
    "credits.audit", "viewer", get="/control/credits/audit",
    request=NoFields, report=Audit,
    run=lambda do, _, _actor: do.credits.audit(),
    summary="Compare every balance with the ledger.")
CREDITS_GRANT = _row(
    "credits.grant", "operator", post="/control/credits/grant",
    request=credit.GrantOrder, report=credit.BookedReport,
    changes=True, targets=("user", "amount"), result_targets=_PERSON,
    run=lambda do, request, _actor: do.credits.grant(request),
    summary="Give a person credits, or take some back.")
CREDITS_REFUND = _row(
    "credits.refund", "operator", post="/control/credits/refund",
    request=credit.RefundOrder, report=credit.BookedReport,
    changes=True, targets=("message",), result_targets=_PERSON,
    run=lambda do, request, _actor: do.credits.refund(request),
    summary="Give back what a message cost.")
CREDITS_REFER = _row(
    "credits.refer", "operator", post="/control/credits/refer",
    request=credit.ReferOrder, report=credit.ReferralReport,
    changes=True, targets=("user",), result_targets=_PERSON,
    run=lambda do, request, _actor: do.credits.refer(request),
    summary="Book a referral code for a new person.")
MEMORY_SHOW = _row(
    "memory.show", "operator", get="/control/memory",
    request=memory.MemoryAsk, report=memory.MemoryReport, shows=True, targets=("user",),
    run=lambda do, request, _actor: do.memory.show(request),
    summary="Show what is known of a person.")
MEMORY_RECORD = _row(
    "memory.record", "operator", get="/control/memory/record",
    request=memory.MemoryAsk, report=PersonRecord, shows=True, targets=("user",),
    run=lambda do, request, _actor: do.memory.record(request),
    summary="Export what is stored of a person, without their conversations.")
MEMORY_SET = _row(
    "memory.set", "operator", post="/control/memory",
    request=memory.FactOrder, report=memory.FactReport, changes=True, targets=("user",),
    run=lambda do, request, _actor: do.memory.set(request),
    summary="Store a fact about a person.")
MEMORY_FORGET = _row(
    "memory.forget", "operator", post="/control/memory/forget",
    request=memory.ForgetOrder, report=memory.ForgottenReport, changes=True, targets=("user",),
    run=lambda do, request, _actor: do.memory.forget(request),
    summary="Delete a fact about a person, or all of them.")
MEMORY_DREAM = _row(
    "memory.dream", "operator", post="/control/memory/dream",
    request=memory.DreamOrder, report=memory.DreamReport, changes=True, targets=("user",),
    run=lambda do, request, _actor: do.memory.dream(request),
    summary="Summarize what is known of a person now.")
USERS_LIST = _row(
    "users.list", "operator", get="/control/users",
    request=users.UsersAsk, report=users.UsersReport,
    run=lambda do, request, _actor: do.users.list(request),
    summary="List people, the newest first.")
USERS_SHOW = _row(
    "users.show", "operator", get="/control/users/user",
    request=users.UserAsk, report=users.UserReport,
    run=lambda do, request, _actor: do.users.show(request),
    summary="Show a person and their channels.")
USERS_ADD = _row(
    "users.add", "operator", post="/control/users/add",
    request=users.UserOrder, report=users.UserReport,
    changes=True, targets=("user",), result_targets=_USER,
    run=lambda do, request, _actor: do.users.add(request),
    summary="Let a person in before they have written.")
USERS_ACTIVATE = _row(
    "users.activate", "operator", post="/control/users/activate",
    request=users.UserOrder, report=users.UserReport, changes=True, targets=("user",),
    run=lambda do, request, _actor: do.users.activate(request),
    summary="Let a person in, or unblock them.")
USERS_BLOCK = _row(
    "users.block", "operator", post="/control/users/block",
    request=users.UserOrder, report=users.UserReport, changes=True, targets=("user",),
    run=lambda do, request, _actor: do.users.block(request),
    summary="Block a person on every channel.")
USERS_LINK = _row(
    "users.link", "operator", post="/control/users/link",
    request=users.LinkOrder, report=users.UserReport,
    changes=True, targets=("user", "channel"), result_targets=_USER,
    run=lambda do, request, _actor: do.users.link(request),
    summary="Give a channel to a person.")
USERS_UNLINK = _row(
    "users.unlink", "operator", post="/control/users/unlink",
    request=users.UserOrder, report=users.UserReport,
    changes=True, targets=("user",), result_targets=_USER,
    run=lambda do, request, _actor: do.users.unlink(request),
    summary="Take a channel from its person.")
USERS_TIER = _row(
    "users.tier", "operator", post="/control/users/tier",
    request=users.TierOrder, report=users.UserReport, changes=True, targets=("user", "tier"),
    run=lambda do, request, _actor: do.users.set_tier(request),
    summary="Change a person's tier.")
USERS_ERASE = _row(
    "users.erase", "owner", post="/control/users/erase",
    request=users.UserOrder, report=users.UserReport, changes=True, targets=("user",),
    run=lambda do, request, _actor: do.users.erase(request),
    summary="Destroy a person's data key: what they wrote and were told can never be read again.")
PAIRING_LIST = _row(
    "pairing.list", "operator", get="/control/pair",
    request=NoFields, report=pairing.PairingReport,
    run=lambda do, _, _actor: do.pairing.list(),
    summary="List who waits to be let in, who was paired, and which platforms are locked.")
PAIRING_APPROVE = _row(
    "pairing.approve", "operator", post="/control/pair/approve",
    request=pairing.PairApproval, report=pairing.PairReport,
    changes=True, targets=("platform",), result_targets=_PERSON,
    run=lambda do, request, _actor: do.pairing.approve(request),
    summary="Let in the person who was given this code.")
PAIRING_DENY = _row(
    "pairing.deny", "operator", post="/control/pair/deny",
    request=pairing.PairOrder, report=pairing.PairReport,
    changes=True, targets=("user",), result_targets=_PERSON,
    run=lambda do, request, _actor: do.pairing.deny(request),
    summary="Cancel the code of a person who waits.")
PAIRING_REVOKE = _row(
    "pairing.revoke", "operator", post="/control/pair/revoke",
    request=pairing.PairOrder, report=pairing.PairReport,
    changes=True, targets=("user",), result_targets=_PERSON,
    run=lambda do, request, _actor: do.pairing.revoke(request),
    summary="Stop letting a channel in.")
CRON_LIST = _row(
    "cron.list", "operator", get="/control/cron",
    request=cron.JobsAsk, report=cron.JobsReport, shows=True, targets=("user",),
    run=lambda do, request, _actor: do.cron.list(request),
    summary="List scheduled jobs, the next to run first.")
CRON_SHOW = _row(
    "cron.show", "operator", get="/control/cron/job",
    request=cron.JobAsk, report=cron.JobReport, shows=True, targets=("id",),
    run=lambda do, request, _actor: do.cron.show(request),
    summary="Show a scheduled job.")
CRON_ADD = _row(
    "cron.add", "operator", post="/control/cron",
    request=cron.NewJobOrder, report=cron.JobReport,
    changes=True, targets=("user",), result_targets=("job.id",),
    run=lambda do, request, _actor: do.cron.add(request),
    summary="Schedule a job for a person.")
CRON_PAUSE = _row(
    "cron.pause", "operator", post="/control/cron/pause",
    request=cron.JobOrder, report=cron.JobReport, changes=True, targets=("id",),
    run=lambda do, request, _actor: do.cron.pause(request),
    summary="Pause a job.")
CRON_RESUME = _row(
    "cron.resume", "operator", post="/control/cron/resume",
    request=cron.JobOrder, report=cron.JobReport, changes=True, targets=("id",),
    run=lambda do, request, _actor: do.cron.resume(request),
    summary="Resume a paused job.")
CRON_RUN = _row(
    "cron.run", "operator", post="/control/cron/run",
    request=cron.JobOrder, report=cron.JobReport, changes=True, targets=("id",),
    run=lambda do, request, _actor: do.cron.run(request),
    summary="Run a job now.")
CRON_REMOVE = _row(
    "cron.remove", "operator", post="/control/cron/remove",
    request=cron.JobOrder, report=cron.JobReport, changes=True, targets=("id",),
    run=lambda do, request, _actor: do.cron.remove(request),
    summary="Delete a job.")
SEARCH_FIND = _row(
    "search.find", "operator", get="/control/search",
    request=SearchOrder, report=SearchResult, shows=True, targets=("user",),
    run=lambda do, request, _actor: do.search.find(request),
    summary="Search what was said.")
GRAPHS_SHOW = _row(
    "graphs.show", "operator", post="/control/graphs/show",
    request=graph_access.GraphsOrder, report=graph_access.GraphsReport,
    shows=True, targets=("people",),
    run=lambda do, request, _actor: do.graphs.show(request),
    summary="Record that conversations are shown; the command reads the files itself.")
GRAPHS_EXPORT = _row(
    "graphs.export", "operator", post="/control/graphs/export",
    request=graph_access.GraphsOrder, report=graph_access.GraphsReport,
    shows=True, targets=("people",),
    run=lambda do, request, _actor: do.graphs.export(request),
    summary="Record that conversations are exported; the command reads the files itself.")
SEARCH_STATE = _row(
    "search.state", "viewer", get="/control/search/index",
    request=NoFields, report=IndexState,
    run=lambda do, _, _actor: do.search.state(),
    summary="Show the size of the search index and how much it lacks.")
SEARCH_REBUILD = _row(
    "search.rebuild", "operator", post="/control/search/rebuild",
    request=NoFields, report=IndexState, changes=True,
    run=lambda do, _, _actor: do.search.rebuild(),
    summary="Build the search index again.")
SESSIONS_LIST = _row(
    "sessions.list", "operator", get="/control/sessions",
    request=sessions.SessionsAsk, report=sessions.SessionsReport,
    run=lambda do, request, _actor: do.sessions.list(request),
    summary="List open sessions, the most recently used first.")
SESSIONS_END = _row(
    "sessions.end", "operator", post="/control/sessions/end",
    request=sessions.SessionOrder, report=sessions.SessionReport,
    changes=True, result_targets=("session.id", "session.person_id"),
    run=lambda do, request, _actor: do.sessions.end(request),
    summary="End a session: its next message starts a new conversation.")
SENDS_SEND = _row(
    "sends.send", "operator", post="/control/send",
    request=sends.SendOrder, report=sends.SendReport,
    changes=True, targets=("to",), result_targets=("id",),
    run=lambda do, request, _actor: do.sends.send(request),
    summary="Send a message to a chat.")
CHANNELS_LIST = _row(
    "channels.list", "viewer", get="/control/channels",
    request=NoFields, report=channels.ChannelsReport,
    run=lambda do, _, _actor: do.channels.list(),
    summary="List the platforms, their connections and their last traffic.")
CHANNELS_DIRECTORY = _row(
    "channels.directory", "operator", get="/control/channels/directory",
    request=sends.DirectoryAsk, report=sends.DirectoryReport,
    run=lambda do, request, _actor: do.sends.directory(request),
    summary="List the chats that are known by name.")
CHANNELS_PAUSE = _row(
    "channels.pause", "operator", post="/control/channels/pause",
    request=channels.ChannelOrder, report=channels.ChannelReport,
    changes=True, targets=("platform",),
    run=lambda do, request, _actor: do.channels.pause(request),
    summary="Stop accepting and sending on a platform until it is resumed.")
CHANNELS_RESUME = _row(
    "channels.resume", "operator", post="/control/channels/resume",
    request=channels.ChannelOrder, report=channels.ChannelReport,
    changes=True, targets=("platform",),
    run=lambda do, request, _actor: do.channels.resume(request),
    summary="Accept and send on a platform again; reconnect it if it has stopped.")
DEADLETTERS_LIST = _row(
    "deadletters.list", "operator", get="/control/deadletters",
    request=deadletters.LettersAsk, report=deadletters.LettersReport,
    run=lambda do, request, _actor: do.deadletters.list(request),
    summary="List replies that were given up, or that may have arrived.")
DEADLETTERS_SHOW = _row(
    "deadletters.show", "operator", get="/control/deadletters/letter",
    request=deadletters.LetterAsk, report=deadletters.LetterReport, shows=True, targets=("id",),
    run=lambda do, request, _actor: do.deadletters.show(request),
    summary="Show one of these replies with its text.")
DEADLETTERS_REPLAY = _row(
    "deadletters.replay", "operator", post="/control/deadletters/replay",
    request=deadletters.LetterOrder, report=deadletters.LetterReport, changes=True, targets=("id",),
    run=lambda do, request, _actor: do.deadletters.replay(request),
    summary="Send one of these replies again.")
DEADLETTERS_DROP = _row(
    "deadletters.drop", "operator", post="/control/deadletters/drop",
    request=deadletters.LetterOrder, report=deadletters.LetterReport, changes=True, targets=("id",),
    run=lambda do, request, _actor: do.deadletters.drop(request),
    summary="Give up one of these replies for good.")
AUDIT_LIST = _row(
    "audit.list", "operator", get="/control/audit",
    request=audit.AuditAsk, report=audit.AuditReport,
    run=lambda do, request, _actor: do.audit.list(request),
    summary="List the orders that were given, the newest first.")
# fmt: on

ORDERS: Final = tuple(_rows)
# `tokens.create` has two paths: the first row is the one by this name.
BY_NAME: Final[Mapping[str, AnyOrder]] = MappingProxyType(
    {order.name: order for order in reversed(ORDERS)}
)
# Chat commands that are operator orders; all others are about the person's own affairs. The
# settings name who may use which command in a chat; whoever may use one of these is an operator.
BY_CHAT: Final[Mapping[str, str]] = MappingProxyType(
    {"reload-mcp": MCP_RELOAD.name, "restart": GATEWAY_RESTART.name}
)
