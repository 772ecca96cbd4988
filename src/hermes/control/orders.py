"""The table of operator orders: one row for each, and nothing else to add for a new one.

A row has the order's name, its lowest role, the function that runs it, its method and path, what
the audit log keeps of it, and a line of help. Its request is the first required parameter of the
function, its report what the function returns.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hermes.control import (
    agents,
    approvals,
    audit,
    channels,
    consent,
    conversations,
    cron,
    deadletters,
    graph_access,
    home,
    ids,
    interactions,
    invitations,
    keys,
    live,
    memory,
    messages,
    overview,
    pairing,
    ratings,
    replays,
    runtime,
    secrets,
    sends,
    sessions,
    skills,
    spending,
    tokens,
    users,
)
from hermes.control import credits as credit
from hermes.control.operations import Operations
from hermes.control.order import AnyOrder
from hermes.control.order_table import OrderTable
from hermes.control.search import SearchOperations
from hermes.ports.ids import IDS_PATH

_PERSON: Final = ("person_id",)
_USER: Final = ("user.id",)
_table = OrderTable()
_row = _table.row

# A table of three lines a row; the formatter would make it eight.
# fmt: off
GATEWAY_STATUS = _row(
    "gateway.status", "viewer", runtime.GatewayOperations.status, get="/control/status",
    summary="Show how the gateway is doing: channels, models, store, running turns.")
GATEWAY_OVERVIEW = _row(
    "gateway.overview", "viewer", overview.OverviewOperations.overview, get="/control/overview",
    summary="Show what the gateway did lately, step by step, and what needs attention.")
GATEWAY_RESTART = _row(
    "gateway.restart", "operator", runtime.GatewayOperations.restart, post="/control/restart",
    changes=True,
    summary="Finish running turns and restart.")
GATEWAY_RELOAD = _row(
    "gateway.reload", "operator", runtime.GatewayOperations.reload, post="/control/reload",
    changes=True,
    summary="Reload the configuration; list settings that need a restart.")
GATEWAY_ROTATE_KEYS = _row(
    "gateway.rotate_keys", "owner", runtime.GatewayOperations.rotate_keys,
    post="/control/keys/rotate-store", changes=True,
    summary="Give the store a new encryption key.")
TURNS_LIST = _row(
    "turns.list", "operator", live.LiveOperations.list, get="/control/turns",
    summary="List the turns that run now, with what each does and took so far.")
TURNS_WATCH = _row(
    "turns.watch", "operator", live.LiveOperations.watch, get="/control/turns/{id}",
    shows=True, targets=("id",),
    summary="Show what a running turn has written so far.")
TURNS_STOP = _row(
    "turns.stop", "operator", live.LiveOperations.stop, post="/control/turns/{id}/stop",
    changes=True, targets=("id",),
    summary="Stop a turn; what it has written so far is kept.")
MODELS_LIST = _row(
    "models.list", "viewer", runtime.ModelOperations.list, get="/control/models",
    summary="List the model services and whether they can be called now.")
MODELS_ROUTE = _row(
    "models.route", "viewer", runtime.ModelOperations.route, post="/control/route",
    summary="Show which models a call would use, and why.")
MODELS_REFRESH = _row(
    "models.refresh", "operator", runtime.ModelOperations.refresh, post="/control/models/refresh",
    changes=True, targets=("providers",),
    summary="Ask the services for their own lists of models: names, sizes and prices.")
MODELS_SWAP = _row(
    "models.swap", "operator", runtime.ModelOperations.swap, post="/control/models/swap",
    changes=True, result_models=("model",),
    summary="Change the default model. The change survives restarts; `default` reverts it.")
AGENTS_LIST = _row(
    "agents.list", "viewer", agents.AgentOperations.list, get="/workspaces",
    summary="List the agents and which messages each of them answers.")
AGENTS_CREATE = _row(
    "agents.create", "operator", agents.AgentOperations.create, post="/workspaces",
    changes=True, result_targets=("id",),
    summary="Create an agent; it answers once its model was checked.")
AGENTS_ADD_REMOTE = _row(
    "agents.add_remote", "operator", agents.AgentOperations.add_remote,
    post="/control/remote-agents", changes=True, result_targets=("id",),
    summary="Add an agent of another system by its agent card; it is called over A2A.")
AGENTS_SHOW = _row(
    "agents.show", "viewer", agents.AgentOperations.show, get="/workspaces/{id}",
    summary="Show an agent and whether it answers, without what its model is told.")
AGENTS_READ = _row(
    "agents.read", "operator", agents.AgentOperations.read, get="/workspaces/{id}?text=true",
    summary="Show an agent with everything that is set of it.")
AGENTS_CHANGE = _row(
    "agents.change", "operator", agents.AgentOperations.change, patch="/workspaces/{id}",
    changes=True, targets=("id",), result_targets=("id",),
    summary="Change an agent; turns that begin from now on have the change.")
AGENTS_DELETE = _row(
    "agents.delete", "operator", agents.AgentOperations.delete, delete="/workspaces/{id}",
    changes=True, targets=("id",), result_targets=("id",),
    summary="Delete an agent after a time in which running and waiting turns end.")
AGENTS_STOP = _row(
    "agents.stop", "operator", agents.AgentOperations.stop, post="/workspaces/{id}/stop",
    changes=True, targets=("id",), result_targets=("id",),
    summary="Let an agent take no more messages until it is started again.")
AGENTS_START = _row(
    "agents.start", "operator", agents.AgentOperations.start, post="/workspaces/{id}/start",
    changes=True, targets=("id",), result_targets=("id",),
    summary="Let an agent answer again; a deletion that is not over yet is cancelled.")
AGENTS_VERSIONS = _row(
    "agents.versions", "operator", agents.AgentOperations.versions,
    get="/workspaces/{id}/versions",
    summary="List the versions of an agent: who changed which fields, and when.")
AGENTS_DIFF = _row(
    "agents.diff", "operator", agents.AgentOperations.diff, get="/workspaces/{id}/diff",
    summary="Compare two versions of an agent.")
AGENTS_REVERT = _row(
    "agents.revert", "operator", agents.AgentOperations.revert, post="/workspaces/{id}/revert",
    changes=True, targets=("id",), result_targets=("id",),
    summary="Give an agent the fields of an earlier version again.")
AGENTS_SWAP = _row(
    "agents.swap", "operator", agents.AgentOperations.swap, post="/workspaces/{id}/swap",
    changes=True, targets=("id",), result_targets=("id",),
    summary="Let another adapter answer for an agent from its next turn on, if it can be called.")
SKILLS_LIST = _row(
    "skills.list", "viewer", skills.SkillOperations.list, get="/control/skills",
    summary="List the skills of the home, and who uses them.")
SKILLS_SHOW = _row(
    "skills.show", "operator", skills.SkillOperations.show, get="/control/skills/{name}",
    summary="Show a skill: its instructions and its files.")
SKILLS_ADD = _row(
    "skills.add", "owner", skills.SkillOperations.add, post="/control/skills",
    changes=True, result_targets=("name",),
    summary="Add a skill to the home.")
SKILLS_REMOVE = _row(
    "skills.remove", "owner", skills.SkillOperations.remove, delete="/control/skills/{name}",
    changes=True, targets=("name",), result_targets=("name",),
    summary="Remove a skill from the home.")
HOOKS_LIST = _row(
    "hooks.list", "viewer", runtime.GatewayOperations.hooks, get="/control/hooks",
    summary="List the hooks and how their calls went.")
MCP_STATUS = _row(
    "mcp.status", "viewer", runtime.GatewayOperations.mcp_status, get="/control/mcp",
    summary="List the MCP servers and their tools.")
MCP_RELOAD = _row(
    "mcp.reload", "operator", runtime.GatewayOperations.mcp_reload, post="/control/mcp/reload",
    changes=True,
    summary="Read the MCP servers from the configuration again and start those that changed.")
MCP_LOGIN = _row(
    "mcp.login", "owner", runtime.GatewayOperations.mcp_login, post="/control/mcp/login",
    changes=True, targets=("server",),
    summary="Store the tokens of a login at an MCP server; nobody can read them back.")
MCP_LOGOUT = _row(
    "mcp.logout", "owner", runtime.GatewayOperations.mcp_logout, post="/control/mcp/logout",
    changes=True, targets=("server",),
    summary="Forget the tokens of an MCP server.")
MESSAGES_LIST = _row(
    "messages.list", "operator", messages.MessageOperations.list, get="/control/messages",
    summary="List messages, the newest first, without what was said.")
MESSAGES_LIST_TEXT = _row(
    "messages.list_with_text", "operator", messages.MessageOperations.list_with_text,
    get="/control/messages?text=true", shows=True, targets=("user",),
    summary="List messages, the newest first, with the beginning of what was said.")
MESSAGES_WHY = _row(
    "messages.why", "viewer", Operations.why, get="/control/why/{id:path}",
    summary="Explain what happened to a message, a refusal or a call, without what was said.")
MESSAGES_READ = _row(
    "messages.read", "operator", Operations.why_in_full, get="/control/why/{id:path}?text=true",
    shows=True, targets=("id",), result_targets=("id",),
    summary="Explain what happened to a message, with what was said.")
MESSAGES_PROMPT = _row(
    "messages.prompt", "operator", conversations.ConversationOperations.prompt,
    get="/control/calls/{call}", shows=True, targets=("call",), result_targets=("person_id",),
    summary="Show what one model call was sent, word for word, and what it answered.")
IDS_FIND = _row(
    "ids.find", "owner", ids.IdOperations.find, get=IDS_PATH,
    summary="List ids that begin or end with a part, as shells complete them.")
INTERACTIONS_LIST = _row(
    "interactions.list", "operator", interactions.InteractionOperations.list,
    get="/control/interactions",
    summary="List turns with the agent, model and tools that answered them.")
ACCESS_LINK = _row(
    "access.link", "owner", runtime.GatewayOperations.link, post="/control/link",
    changes=True, targets=("revoke_others",),
    summary="Make a one-time sign-in link for the web chat.")
ACCESS_INVITE = _row(
    "access.invite", "owner", invitations.InvitationOperations.create, post="/control/invitations",
    changes=True, result_targets=("invitation.id",),
    summary="Invite a person into the web chat; the code and the link are shown only now.")
ACCESS_INVITATIONS = _row(
    "access.invitations", "owner", invitations.InvitationOperations.list,
    get="/control/invitations",
    summary="List the invitations to the web chat that nobody has used.")
ACCESS_WITHDRAW = _row(
    "access.withdraw", "owner", invitations.InvitationOperations.withdraw,
    delete="/control/invitations/{id}", changes=True, targets=("id",), result_targets=("id",),
    summary="Withdraw an invitation that nobody has used.")
TOKENS_LIST = _row(
    "tokens.list", "owner", tokens.TokenOperations.list, get="/control/tokens",
    summary="List the tokens and the browsers that are signed in.")
TOKENS_CREATE = _row(
    "tokens.create", "owner", tokens.TokenOperations.create, post="/control/tokens",
    changes=True, result_targets=("token.id",),
    summary="Make a token with a role; its secret is shown only now.")
TOKENS_CREATE_OWNER = _row(
    "tokens.create", "owner", tokens.TokenOperations.create_owner, post="/control/token",
    changes=True,
    summary="Make a token of the owner; its secret is shown only now.")
TOKENS_REVOKE = _row(
    "tokens.revoke", "owner", tokens.TokenOperations.revoke, post="/control/tokens/revoke",
    changes=True, targets=("id", "sessions", "tokens"), result_targets=("token.id", "session.id"),
    summary="Revoke a token or a browser session, or all of a kind.")
KEYS_LIST = _row(
    "keys.list", "viewer", keys.KeyOperations.list, get="/control/keys",
    summary="List the keys of /v1 and what each has used.")
KEYS_CREATE = _row(
    "keys.create", "operator", keys.KeyOperations.create, post="/control/keys",
    changes=True, result_targets=("key.id", "key.person_id"),
    summary="Make a key for /v1; its secret is shown only now.")
KEYS_REVOKE = _row(
    "keys.revoke", "operator", keys.KeyOperations.revoke, post="/control/keys/revoke",
    changes=True, targets=("id",), result_targets=("key.id",),
    summary="Revoke a key of /v1.")
SECRETS_LIST = _row(
    "secrets.list", "operator", secrets.SecretOperations.list, get="/settings/secrets",
    summary="List the global secrets, without their values.")
SECRETS_SET = _row(
    "secrets.set", "owner", secrets.SecretOperations.set, put="/settings/secrets",
    changes=True, result_names=("secret.key",),
    summary="Set a global secret; nobody can read its value back.")
SECRETS_DELETE = _row(
    "secrets.delete", "owner", secrets.SecretOperations.delete, delete="/settings/secrets/{key}",
    changes=True, result_names=("key",),
    summary="Delete a global secret.")
SECRETS_LIST_OF_AGENT = _row(
    "secrets.list_of_agent", "operator", secrets.SecretOperations.list_of_agent,
    get="/workspaces/{id}/secrets",
    summary="List the secrets of an agent, without their values.")
SECRETS_SET_OF_AGENT = _row(
    "secrets.set_of_agent", "operator", secrets.SecretOperations.set_of_agent,
    put="/workspaces/{id}/secrets", changes=True, targets=("id",), result_names=("secret.key",),
    summary="Set a secret of an agent; an empty value hides the global one from it.")
SECRETS_DELETE_OF_AGENT = _row(
    "secrets.delete_of_agent", "operator", secrets.SecretOperations.delete_of_agent,
    delete="/workspaces/{id}/secrets/{key}", changes=True, targets=("id",), result_names=("key",),
    summary="Delete a secret of an agent; the global one counts for it again.")
KILL_SWITCH_SHOW = _row(
    "kill_switch.show", "viewer", spending.SpendingOperations.kill_switch,
    get="/control/kill-switch",
    summary="Show whether model calls are stopped.")
KILL_SWITCH_SET = _row(
    "kill_switch.set", "operator", spending.SpendingOperations.set_kill_switch,
    post="/control/kill-switch", changes=True, targets=("is_on",),
    summary="Stop every model call, or allow them again.")
COSTS_SHOW = _row(
    "costs.show", "viewer", spending.SpendingOperations.costs, get="/control/costs",
    summary="Show what model calls cost, by model, person, key or day.")
COSTS_BRANCH = _row(
    "costs.branch", "viewer", Operations.branch_costs, get="/control/costs/{id}",
    summary="Show what one message cost, with everything that it has delegated.")
CONSENT_SHOW = _row(
    "consent.show", "operator", consent.ConsentOperations.show, get="/control/consent",
    summary="Show whether a person's conversations may be used for training.")
CONSENT_SET = _row(
    "consent.set", "operator", consent.ConsentOperations.set, post="/control/consent",
    changes=True, targets=("user", "may_train"),
    summary="Record or withdraw a person's consent to training.")
APPROVALS_LIST = _row(
    "approvals.list", "operator", approvals.ApprovalOperations.list, get="/control/approvals",
    shows=True,
    summary="List the tool calls that wait for approval, with their arguments.")
APPROVALS_APPROVE = _row(
    "approvals.approve", "operator", approvals.ApprovalOperations.approve,
    post="/control/approvals/approve", changes=True, targets=("id",),
    result_targets=("person_id", "message_id"),
    summary="Let a tool call run that waits for approval.")
APPROVALS_DENY = _row(
    "approvals.deny", "operator", approvals.ApprovalOperations.deny,
    post="/control/approvals/deny", changes=True, targets=("id",),
    result_targets=("person_id", "message_id"),
    summary="Refuse a tool call that waits for approval.")
CREDITS_LIST = _row(
    "credits.list", "operator", credit.CreditOperations.list, get="/control/credits",
    summary="List the wallets, those with the fewest credits first.")
CREDITS_SHOW = _row(
    "credits.show", "operator", credit.CreditOperations.show, get="/control/credits/wallet",
    summary="Show a person's credits and their last bookings.")
CREDITS_AUDIT = _row(
    "credits.audit", "viewer", credit.CreditOperations.audit, get="/control/credits/audit",
    summary="Compare every balance with the ledger.")
CREDITS_GRANT = _row(
    "credits.grant", "operator", credit.CreditOperations.grant, post="/control/credits/grant",
    changes=True, targets=("user", "amount"), result_targets=_PERSON,
    summary="Give a person credits, or take some back.")
CREDITS_REFUND = _row(
    "credits.refund", "operator", credit.CreditOperations.refund, post="/control/credits/refund",
    changes=True, targets=("message",), result_targets=_PERSON,
    summary="Give back what a message cost.")
CREDITS_REFER = _row(
    "credits.refer", "operator", credit.CreditOperations.refer, post="/control/credits/refer",
    changes=True, targets=("user",), result_targets=_PERSON,
    summary="Book a referral code for a new person.")
MEMORY_SHOW = _row(
    "memory.show", "operator", memory.MemoryOperations.show, get="/control/memory",
    shows=True, targets=("user",),
    summary="Show what is known of a person.")
MEMORY_LIST = _row(
    "memory.list", "operator", memory.MemoryOperations.list, get="/control/memory/people",
    summary="List the people about whom facts are stored, without the facts.")
MEMORY_RECORD = _row(
    "memory.record", "operator", memory.MemoryOperations.record, get="/control/memory/record",
    shows=True, targets=("user",),
    summary="Export what is stored of a person, without their conversations.")
MEMORY_SET = _row(
    "memory.set", "operator", memory.MemoryOperations.set, post="/control/memory",
    changes=True, targets=("user",),
    summary="Store a fact about a person.")
MEMORY_FORGET = _row(
    "memory.forget", "operator", memory.MemoryOperations.forget, post="/control/memory/forget",
    changes=True, targets=("user",),
    summary="Delete a fact about a person, or all of them.")
MEMORY_DREAM = _row(
    "memory.dream", "operator", memory.MemoryOperations.dream, post="/control/memory/dream",
    changes=True, targets=("user",),
    summary="Summarize what is known of a person now.")
USERS_LIST = _row(
    "users.list", "operator", users.UserOperations.list, get="/control/users",
    summary="List people, the newest first.")
USERS_SHOW = _row(
    "users.show", "operator", users.UserOperations.show, get="/control/users/user",
    summary="Show a person and their channels.")
USERS_ADD = _row(
    "users.add", "operator", users.UserOperations.add, post="/control/users/add",
    changes=True, targets=("user",), result_targets=_USER,
    summary="Let a person in before they have written.")
USERS_ACTIVATE = _row(
    "users.activate", "operator", users.UserOperations.activate, post="/control/users/activate",
    changes=True, targets=("user",),
    summary="Let a person in, or unblock them.")
USERS_BLOCK = _row(
    "users.block", "operator", users.UserOperations.block, post="/control/users/block",
    changes=True, targets=("user",),
    summary="Block a person on every channel.")
USERS_LINK = _row(
    "users.link", "operator", users.UserOperations.link, post="/control/users/link",
    changes=True, targets=("user", "channel"), result_targets=_USER,
    summary="Give a channel to a person.")
USERS_UNLINK = _row(
    "users.unlink", "operator", users.UserOperations.unlink, post="/control/users/unlink",
    changes=True, targets=("user",), result_targets=_USER,
    summary="Take a channel from its person.")
USERS_TIER = _row(
    "users.tier", "operator", users.UserOperations.set_tier, post="/control/users/tier",
    changes=True, targets=("user", "tier"),
    summary="Change a person's tier.")
USERS_EXPORT = _row(
    "users.export", "owner", users.UserOperations.export, post="/control/users/export",
    shows=True, targets=("user",),
    summary="Export everything that is kept of a person; the command reads the files itself.")
USERS_ERASE = _row(
    "users.erase", "owner", users.UserOperations.erase, post="/control/users/erase",
    changes=True, targets=("user",),
    summary="Destroy a person's data key: what they wrote and were told can never be read again.")
PAIRING_LIST = _row(
    "pairing.list", "operator", pairing.PairingOperations.list, get="/control/pair",
    summary="List who waits to be let in, who was paired, and which platforms are locked.")
PAIRING_APPROVE = _row(
    "pairing.approve", "operator", pairing.PairingOperations.approve, post="/control/pair/approve",
    changes=True, targets=("platform",), result_targets=_PERSON,
    summary="Let in the person who was given this code.")
PAIRING_DENY = _row(
    "pairing.deny", "operator", pairing.PairingOperations.deny, post="/control/pair/deny",
    changes=True, targets=("user",), result_targets=_PERSON,
    summary="Cancel the code of a person who waits.")
PAIRING_REVOKE = _row(
    "pairing.revoke", "operator", pairing.PairingOperations.revoke, post="/control/pair/revoke",
    changes=True, targets=("user",), result_targets=_PERSON,
    summary="Stop letting a channel in.")
CRON_LIST = _row(
    "cron.list", "operator", cron.CronOperations.list, get="/control/cron",
    shows=True, targets=("user",),
    summary="List scheduled jobs, the next to run first.")
CRON_SHOW = _row(
    "cron.show", "operator", cron.CronOperations.show, get="/control/cron/job",
    shows=True, targets=("id",), result_targets=("job.id",),
    summary="Show a scheduled job.")
CRON_ADD = _row(
    "cron.add", "operator", cron.CronOperations.add, post="/control/cron",
    changes=True, targets=("user",), result_targets=("job.id",),
    summary="Schedule a job for a person.")
CRON_PAUSE = _row(
    "cron.pause", "operator", cron.CronOperations.pause, post="/control/cron/pause",
    changes=True, targets=("id",), result_targets=("job.id",),
    summary="Pause a job.")
CRON_RESUME = _row(
    "cron.resume", "operator", cron.CronOperations.resume, post="/control/cron/resume",
    changes=True, targets=("id",), result_targets=("job.id",),
    summary="Resume a paused job.")
CRON_RUN = _row(
    "cron.run", "operator", cron.CronOperations.run, post="/control/cron/run",
    changes=True, targets=("id",), result_targets=("job.id",),
    summary="Run a job now.")
CRON_REMOVE = _row(
    "cron.remove", "operator", cron.CronOperations.remove, post="/control/cron/remove",
    changes=True, targets=("id",), result_targets=("job.id",),
    summary="Delete a job.")
SEARCH_FIND = _row(
    "search.find", "operator", SearchOperations.find, get="/control/search",
    shows=True, targets=("user",),
    summary="Search what was said.")
GRAPHS_SHOW = _row(
    "graphs.show", "operator", graph_access.GraphOperations.show, post="/control/graphs/show",
    shows=True, targets=("people",),
    summary="Record that conversations are shown; the command reads the files itself.")
GRAPHS_EXPORT = _row(
    "graphs.export", "operator", graph_access.GraphOperations.export, post="/control/graphs/export",
    shows=True, targets=("people",),
    summary="Record that conversations are exported; the command reads the files itself.")
GRAPHS_RATE = _row(
    "graphs.rate", "operator", ratings.RatingOperations.rate, post="/control/graphs/rate",
    changes=True, targets=("call", "rating"), result_targets=("call",),
    summary="Give an answer a thumb up or down, or take it back.")
REPLAYS_RUN = _row(
    "replays.run", "operator", replays.ReplayOperations.run, post="/control/replays",
    changes=True, shows=True, targets=("message",), result_targets=("replay.message_id", "replay.id"),
    summary="Make an answer again from what was frozen, with another model or prompt; nothing is sent.")
REPLAYS_LIST = _row(
    "replays.list", "operator", replays.ReplayOperations.list, get="/control/replays",
    summary="List the replays that were made, the newest first.")
REPLAYS_SHOW = _row(
    "replays.show", "operator", replays.ReplayOperations.show, get="/control/replays/{id}",
    shows=True, targets=("id",), result_targets=("replay.id",),
    summary="Show a replay: both answers, what they took, and how they differ.")
SEARCH_STATE = _row(
    "search.state", "viewer", SearchOperations.state, get="/control/search/index",
    summary="Show the size of the search index and how much it lacks.")
SEARCH_REBUILD = _row(
    "search.rebuild", "operator", SearchOperations.rebuild, post="/control/search/rebuild",
    changes=True,
    summary="Build the search index again.")
SESSIONS_LIST = _row(
    "sessions.list", "operator", sessions.SessionOperations.list, get="/control/sessions",
    summary="List open sessions, the most recently used first.")
SESSIONS_TRANSCRIPT = _row(
    "sessions.transcript", "operator", conversations.ConversationOperations.transcript,
    get="/control/sessions/transcript", shows=True, result_targets=("session", "person_id"),
    summary="Show what was said in a session, the newest messages first.")
SESSIONS_GRAPH = _row(
    "sessions.graph", "operator", conversations.ConversationOperations.graph,
    get="/control/sessions/graph", shows=True, result_targets=("session", "person_id"),
    summary="Show a conversation as a graph: branches, edits, model calls and subagents.")
SESSIONS_UNDO = _row(
    "sessions.undo", "operator", conversations.ConversationOperations.undo,
    post="/control/sessions/undo", changes=True, result_targets=("session", "person_id"),
    summary="Take the last exchanges out of what models see of a session; the graph keeps them.")
SESSIONS_END = _row(
    "sessions.end", "operator", sessions.SessionOperations.end, post="/control/sessions/end",
    changes=True, result_targets=("session.id", "session.person_id"),
    summary="End a session: its next message starts a new conversation.")
SENDS_SEND = _row(
    "sends.send", "operator", sends.SendOperations.send, post="/control/send",
    changes=True, targets=("to",), result_targets=("id",),
    summary="Send a message to a chat.")
CHANNELS_LIST = _row(
    "channels.list", "viewer", channels.ChannelOperations.list, get="/control/channels",
    summary="List the platforms, their connections and their last traffic.")
CHANNELS_DIRECTORY = _row(
    "channels.directory", "operator", sends.SendOperations.directory,
    get="/control/channels/directory",
    summary="List the chats that are known by name.")
CHANNELS_PAUSE = _row(
    "channels.pause", "operator", channels.ChannelOperations.pause, post="/control/channels/pause",
    changes=True, targets=("platform",),
    summary="Stop accepting and sending on a platform until it is resumed.")
CHANNELS_RESUME = _row(
    "channels.resume", "operator", channels.ChannelOperations.resume,
    post="/control/channels/resume", changes=True, targets=("platform",),
    summary="Accept and send on a platform again; reconnect it if it has stopped.")
DEADLETTERS_LIST = _row(
    "deadletters.list", "operator", deadletters.DeadLetterOperations.list,
    get="/control/deadletters",
    summary="List replies that Hermes stopped sending, or that may have arrived.")
DEADLETTERS_SHOW = _row(
    "deadletters.show", "operator", deadletters.DeadLetterOperations.show,
    get="/control/deadletters/letter", shows=True, targets=("id",), result_targets=("letter.id",),
    summary="Show one of these replies with its text.")
DEADLETTERS_REPLAY = _row(
    "deadletters.replay", "operator", deadletters.DeadLetterOperations.replay,
    post="/control/deadletters/replay", changes=True, targets=("id",), result_targets=("letter.id",),
    summary="Send one of these replies again.")
DEADLETTERS_DROP = _row(
    "deadletters.drop", "operator", deadletters.DeadLetterOperations.drop,
    post="/control/deadletters/drop", changes=True, targets=("id",), result_targets=("letter.id",),
    summary="Give up one of these replies for good.")
SETTINGS_LIST = _row(
    "settings.list", "operator", home.HomeOperations.settings, get="/control/settings",
    summary="List the settings that hold now, where each comes from, and what a change needs.")
SETTINGS_SET = _row(
    "settings.set", "owner", home.HomeOperations.set, post="/control/settings",
    changes=True, result_models=("key",),
    summary="Change a setting in config.yaml, if the whole configuration is right with it.")
LOGS_READ = _row(
    "logs.read", "operator", home.HomeOperations.logs, get="/control/logs",
    summary="Show lines of the log of this process, the newest first.")
DOCTOR_RUN = _row(
    "doctor.run", "operator", home.HomeOperations.doctor, get="/control/doctor",
    summary="Run the checks of `hermes doctor`; nothing is repaired.")
AUDIT_LIST = _row(
    "audit.list", "operator", audit.AuditOperations.list, get="/control/audit",
    summary="List the orders that were given, the newest first.")
# fmt: on

ORDERS: Final[tuple[AnyOrder, ...]] = tuple(_table.rows)
# `tokens.create` has two paths: the first row is the one by this name.
BY_NAME: Final[Mapping[str, AnyOrder]] = MappingProxyType(
    {order.name: order for order in reversed(ORDERS)}
)
# Chat commands that are operator orders; all others are about the person's own affairs. The
# settings name who may use which command in a chat; whoever may use one of these is an operator.
BY_CHAT: Final[Mapping[str, str]] = MappingProxyType(
    {"reload-mcp": MCP_RELOAD.name, "restart": GATEWAY_RESTART.name}
)
