"""Descriptions of the request fields of operator orders, for the docs and OpenAPI."""

from collections.abc import Mapping
from typing import Final

from hermes.config import AgentSettings
from hermes.config.section import descriptions
from hermes.control.order import AnyOrder

_PERSON = "a person"
_ONLY_PERSON = "only entries of this person"
_PLATFORM = "only entries of this platform"
_MOST = "the maximum number of entries to return"
_MODEL = "`provider:model`, an alias, or `auto`"


def _agent_fields() -> dict[str, str]:
    """Return the fields of a new or changed agent, in the words of docs/settings.md."""
    told = {
        name: f"{text[0].lower()}{text[1:].removesuffix('.')}"
        for name, text in descriptions(AgentSettings).items()
    }
    del told["compaction"]
    told |= {
        "name": "how the agent is called: small letters, digits and `-`; unique among all agents",
        "runtime": "what answers: `hermes`, or the name of an [adapter](adapters.md)",
        "shared": "whether all callers share its conversations, instead of each having their own",
        "note": "why; kept with the version",
    }
    return {
        f"{order}.{name}": text
        for order in ("agents.create", "agents.change")
        for name, text in told.items()
    }


def _listed_fields() -> dict[str, str]:
    """Return the fields of lists of messages, with and without what was said."""
    told = {
        "before": "continue the list here: the `next` of the page before",
        "least_usd": "only turns that cost at least this many dollars",
        "model": "only turns that this model answered",
        "outcome": "only messages that ended so; `open` for those that have not ended",
        "since": "only messages accepted at this time or later",
        "until": "only messages accepted at this time or earlier",
        "user": _ONLY_PERSON,
    }
    orders = ("messages.list", "messages.list_with_text")
    return {f"{order}.{name}": text for order in orders for name, text in told.items()}


# Keyed by field name or, if a name has several meanings, by `order.field`.
FIELD_HELP: Final[Mapping[str, str]] = {
    "access.invite.name": "the person's id in the web chat: small letters, digits, `.`, `_` and `-`",
    "access.invite.role": "what they may do beside talking to agents: `person` is nothing more",
    "access.invite.lifetime_s": "for how many seconds the invitation is valid; a week if omitted",
    "access_token": "the token that the issuer gave",
    "mcp.login.url": "the address of the MCP server that the tokens are for",
    "agents.add_remote.url": "the address of the agent, or of its agent card",
    "agents.add_remote.name": "how the agent is called here; default: as its card says",
    "agents.add_remote.secret": "the name of the stored secret that is its key, if it needs one",
    "agents.add_remote.note": "why; kept with the version",
    "action": "only orders with this name, such as `pairing.approve`",
    "actor": "only orders by this actor, as named in the log: `token:t_...`",
    "agent": "only turns of this agent",
    "amount": "the number of credits to add; a negative number removes credits",
    "below": "only wallets with fewer credits than this",
    "budget_period": "the period that the budget covers",
    "budget_tokens": "the maximum number of tokens; unlimited if omitted",
    "budget_usd": "the maximum cost in dollars; 0 refuses every call that costs money",
    "call": "the call that wrote the answer, as `hermes graph show` names it, or its beginning or "
    "end",
    "capability": "what the call is for",
    "channel": "the channel to link to the person, as `platform:user_id`",
    "chat": "the direct chat in which the job runs; the person's own chat if omitted",
    "issuer": "the authorization server that has given the tokens",
    "client_id": "the id of Hermes at the authorization server",
    "client_secret": "the secret of that id, if it has one",
    "days": "the number of days to include, up to today",
    "default_model": "the default model of the agent or of the gateway",
    "expires_in": "for how many seconds the token is valid",
    "first_day": "the first day to include, such as `2026-11-01`",
    "images": "whether the call contains images",
    "refresh_token": "the token with which a new one is got, if there is one",
    "scope": "what the token is good for",
    "server": "the name of the MCP server",
    "tokens": "how many tokens cannot be left out of the call; 0 if any model holds them",
    "is_everything": "whether to forget all facts; omit `key` in this case",
    "is_on": "whether to stop model calls",
    "key": "the name of the secret, such as `ANTHROPIC_API_KEY`: capital letters, digits and `_`",
    "label": "a display name",
    "last_day": "the last day to include, such as `2026-11-30`",
    "lifetime_s": "for how many seconds it is valid; until it is revoked if omitted",
    "limit": _MOST,
    "may_delegate": "whether its messages may be commands that give tasks to agents",
    "max_output_tokens": "the maximum answer length that one call may request, in tokens",
    "may_train": "whether the person's conversations may be used for training",
    "message": "the id of the message, `m_...`, or its beginning or end",
    "models": "the models that the key may call; all models if empty",
    "month": "the month whose days to show, such as `2026-11`",
    "note": "why; kept encrypted with the conversation",
    "output": "whether to include the job's last answer",
    "people": "whose conversations to include: person ids, or `all`",
    "platform": _PLATFORM,
    "prompt": "the prompt to route",
    "providers": "the providers to ask; all that have a list if empty",
    "rating": "`up`, `down`, or `none` to take it back",
    "read_history": "whether the key may find over MCP what its person said, on all platforms",
    "reason": "the reason; it is recorded with the action",
    "requests_per_minute": "the maximum number of calls per minute",
    "role": "the role of the token's holder",
    "session": "the session's id, its beginning or end, or its complete session key",
    "session_model": "the model chosen for the conversation",
    "since": "only entries since this time",
    "state": "only people with this status, such as `blocked`; everyone except erased people if "
    "omitted",
    "options": "the options that only some models have and that the call cannot do without",
    "store_responses": "whether responses of the key's calls are stored, so that later calls continue "
    "them",
    "task": "the task type; detected from the prompt if omitted",
    "tier": "the tier",
    "to": "where the answer goes: `local`, PLATFORM or PLATFORM:CHAT[:THREAD]",
    "tool": "only turns that used this tool",
    "tools": "whether the call offers tools",
    "user": _PERSON,
    "value": "the value of the fact",
    "when": "when the job runs, as described in [cron](cron.md): `every weekday at 9`",
    "changed": "only settings that are not at their default",
    "level": "the lowest level to show",
    "part": "what the names of the settings contain",
    "settings.set.key": "the name of the setting, such as `budgets.platform_day_usd`",
    "settings.set.value": "the value as `hermes config set` takes it; the default if omitted",
    "logs.read.message": "only lines about this message",
    "span": "the time to look at: the last hour, day or month",
    "words": "whether to match whole words only",
    **_agent_fields(),
    "agents.change.version": "the newest version as you know it; another one is refused",
    "agents.delete.grace_s": "for how many seconds running and waiting turns may still end; "
    "`workspaces.delete_grace_s` if omitted",
    "agents.diff.new": "the later version; the newest if omitted",
    "agents.diff.old": "the earlier version; the one before `new` if omitted",
    "agents.list.after": "continue the list after this name",
    "agents.list.state": "only agents in this state, such as `failed`",
    "agents.swap.note": "why; kept with the version",
    "agents.swap.preserve_cwd": "whether the adapter goes on in the working folders of the one before",
    "agents.swap.runtime": "the adapter, or `hermes` for the models of Hermes",
    "agents.revert.note": "why; kept with the version",
    "agents.revert.version": "the version whose fields the agent gets again",
    "agents.versions.before": "only versions before this one",
    "approvals.approve.id": "the approval's id, or its beginning or end",
    "approvals.deny.id": "the approval's id, or its beginning or end",
    "channels.pause.platform": "the platform",
    "channels.resume.platform": "the platform",
    "costs.show.by": "how to group the costs",
    "credits.grant.id": "an idempotency name; orders with the same name count once",
    "credits.refer.code": "the referral code that the new person used",
    "cron.add.agent": "the agent that answers; the person's agent if omitted",
    "cron.add.text": "the prompt of each run",
    "cron.list.user": _ONLY_PERSON,
    "cron.pause.id": "the job's id, or its beginning or end",
    "cron.remove.id": "the job's id, or its beginning or end",
    "cron.resume.id": "the job's id, or its beginning or end",
    "cron.run.id": "the job's id, or its beginning or end",
    "cron.show.id": "the job's id, or its beginning or end",
    "deadletters.drop.id": "the reply's id, `o_...`, or its beginning or end",
    "deadletters.replay.id": "the reply's id, `o_...`, or its beginning or end",
    "deadletters.show.id": "the reply's id, `o_...`, or its beginning or end",
    "ids.find.kinds": "the kinds of ids, separated by commas: `message`, `refusal`, `call`, `person`, "
    "`channel`, `job`, `letter`, `key`, `answer`, `replay`, `session`, `token`, `approval`, `agent`, `model`",
    "ids.find.part": "what the ids begin or end with",
    "interactions.list.model": "only turns that this model answered",
    "interactions.list.user": _ONLY_PERSON,
    "keys.revoke.id": "the key's id, or its beginning or end",
    "memory.forget.key": "the key of the fact to forget",
    "memory.set.key": "the key of the fact, such as `diet`",
    **_listed_fields(),
    "messages.prompt.limit": "how many of its last messages to show, at most 200",
    "sessions.graph.epoch": "which of its conversations, counted from 0; the one it is in if omitted",
    "sessions.graph.limit": "how many messages at the end of each branch to show, at most 200",
    "sessions.undo.count": "how many exchanges to take back, at most 100",
    "sessions.transcript.before": "continue the transcript here: the `earlier` of the page before",
    "models.route.agent": "the agent that makes the call, which may have keys of its own",
    "models.route.model": "the model named in the call",
    "models.route.tier": "the tier of the person who makes the call",
    "models.swap.model": f"{_MODEL}; `default` for the configured model",
    "pairing.approve.code": "the code that the person was shown",
    "pairing.approve.platform": "the platform on which the person wrote",
    "pairing.deny.user": "the person who waits for approval, as `platform:user_id`",
    "pairing.revoke.user": "the person whose access to revoke, as `platform:user_id`",
    "replays.list.before": "only replays before this one",
    "replays.list.label": "only replays of this set",
    "replays.list.message": "only replays of this message, by its id or a part of it",
    "replays.run.label": "a name for the set that the replay belongs to",
    "replays.run.live_tools": "whether tools run for real; otherwise they answer from the record",
    "replays.run.max_usd": "after so many dollars no further model call is made",
    "replays.run.message": "the message whose answer is made again, by its id or a part of it",
    "replays.run.model": "the model that answers, as `provider:model`; the one that answered if empty",
    "replays.run.system": "a system prompt in place of the agent's own",
    "search.find.agent": "only conversations with this agent",
    "search.find.text": "the words to search for",
    "search.find.user": _ONLY_PERSON,
    "secrets.set.value": "the value",
    "secrets.set_of_agent.value": "the value; an empty one hides the global secret from the agent",
    "sends.send.text": "the message",
    "sends.send.files": "files of the media folder to send with it, each with `path` (`arrived/NAME`) and `name`",
    "sends.send.later": "whether a command without a gateway leaves it to the next one",
    "skills.add.archive": "a zip or tar archive of the skill's folder, in base64",
    "tokens.create.name": "a display name",
    "access.link.revoke_others": "whether to sign out every other browser first",
    "tokens.revoke.id": "the id of a token or a browser session, or its beginning or end",
    "tokens.revoke.sessions": "whether to sign out every browser; omit `id` in this case",
    "tokens.revoke.tokens": "whether to revoke every token; omit `id` in this case",
    "users.activate.name": "not used",
    "users.add.name": "the person's name",
    "users.block.name": "not used",
    "users.erase.name": "not used",
    "users.export.name": "not used",
    "users.unlink.name": "not used",
    "users.unlink.user": "the channel to unlink from the person, as `platform:user_id`",
}


def help_key(order: AnyOrder, field: str) -> str:
    """Return the key under which `FIELD_HELP` describes a field of an order."""
    own = f"{order.name}.{field}"
    return own if own in FIELD_HELP else field
