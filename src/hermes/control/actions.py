"""Every order that an operator can give, as data: who may give it, and what of it is on record.

Who carries an order out stands elsewhere; the way from here to there is `acting.py`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from hermes.ports.access import Role


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One order.

    `least` is the least role that may give it. `changes` says that it changes something, `shows`
    that it shows what people said or what is known of them; both go on record. Of the order the
    record has the fields `tells`, of what came of it the paths `gives`: ids, and nothing else; and
    `names`, which are names of models. `at_desk` is where the desk has its function, if not under the name of the order.
    """

    name: str
    least: Role
    changes: bool = False
    shows: bool = False
    tells: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    at_desk: str = ""

    @property
    def is_audited(self) -> bool:
        """Whether every use is on record."""
        return self.changes or self.shows

    @property
    def path(self) -> str:
        """Where the desk has its function."""
        return self.at_desk or self.name


def _looks(name: str, least: Role = "viewer", *, at_desk: str = "") -> Action:
    return Action(name=name, least=least, at_desk=at_desk)


def _shows(name: str, *tells: str, at_desk: str = "") -> Action:
    return Action(name=name, least="operator", shows=True, tells=tells, at_desk=at_desk)


def _changes(
    name: str,
    *tells: str,
    gives: tuple[str, ...] = (),
    least: Role = "operator",
    at_desk: str = "",
) -> Action:
    return Action(name=name, least=least, changes=True, tells=tells, gives=gives, at_desk=at_desk)


_PERSON = ("person_id",)
_USER = ("user.id",)
_JOB = ("job.id",)

_ALL: Final = (
    _looks("gateway.status"),
    _changes("gateway.restart"),
    _changes("gateway.reload"),
    _changes("gateway.rotate_keys", least="owner"),
    _looks("models.list"),
    _looks("models.route"),
    Action(name="models.swap", least="operator", changes=True, names=("model",)),
    _looks("hooks.list"),
    _looks("mcp.status"),
    _changes("mcp.reload"),
    _looks("messages.why", at_desk="why"),
    _shows("messages.read", "id", at_desk="why_in_full"),
    _looks("interactions.list", "operator", at_desk="interactions"),
    _changes("access.link", "revoke_others", least="owner"),
    _looks("tokens.list", "owner"),
    _changes("tokens.create", gives=("token.id",), least="owner"),
    _changes("tokens.revoke", "id", "sessions", "tokens", least="owner"),
    _looks("keys.list", at_desk="keys"),
    _changes("keys.create", gives=("key.id", "key.person_id"), at_desk="create_key"),
    _changes("keys.revoke", "id", at_desk="revoke_key"),
    _looks("kill_switch.show", at_desk="kill_switch"),
    _changes("kill_switch.set", "is_on", at_desk="set_kill_switch"),
    _looks("costs.show", at_desk="costs"),
    _looks("consent.show", "operator", at_desk="consent"),
    _changes("consent.set", "user", "may_train", at_desk="set_consent"),
    _looks("credits.list", "operator"),
    _looks("credits.show", "operator"),
    _looks("credits.audit"),
    _changes("credits.grant", "user", "amount", gives=_PERSON),
    _changes("credits.refund", "message", gives=_PERSON),
    _changes("credits.refer", "user", gives=_PERSON),
    _shows("memory.show", "user"),
    _shows("memory.record", "user"),
    _changes("memory.set", "user"),
    _changes("memory.forget", "user"),
    _changes("memory.dream", "user"),
    _looks("users.list", "operator"),
    _looks("users.show", "operator"),
    _changes("users.add", "user", gives=_USER),
    _changes("users.activate", "user"),
    _changes("users.block", "user"),
    _changes("users.link", "user", "channel", gives=_USER),
    _changes("users.unlink", "user", gives=_USER),
    _changes("users.tier", "user", "tier", at_desk="users.set_tier"),
    _changes("users.erase", "user", least="owner"),
    _looks("pairing.list", "operator"),
    _changes("pairing.approve", "platform", gives=_PERSON),
    _changes("pairing.deny", "user", gives=_PERSON),
    _changes("pairing.revoke", "user", gives=_PERSON),
    _shows("cron.list", "user"),
    _shows("cron.show", "id"),
    _changes("cron.add", "user", gives=_JOB),
    _changes("cron.pause", "id"),
    _changes("cron.resume", "id"),
    _changes("cron.run", "id"),
    _changes("cron.remove", "id"),
    _shows("search.find", "user"),
    _shows("graphs.show", "people"),
    _shows("graphs.export", "people"),
    _looks("search.state"),
    _changes("search.rebuild"),
    _looks("sessions.list", "operator"),
    _changes("sessions.end", gives=("session.id", "session.person_id")),
    _changes("sends.send", "to", gives=("id",)),
    _looks("channels.list"),
    _looks("channels.directory", "operator", at_desk="sends.directory"),
    _changes("channels.pause", "platform"),
    _changes("channels.resume", "platform"),
    _looks("deadletters.list", "operator"),
    _shows("deadletters.show", "id"),
    _changes("deadletters.replay", "id"),
    _changes("deadletters.drop", "id"),
    _looks("audit.list", "operator"),
)

ACTIONS: Final[Mapping[str, Action]] = MappingProxyType({one.name: one for one in _ALL})
AT_DESK: Final[Mapping[str, Action]] = MappingProxyType({one.path: one for one in _ALL})
# The chat commands that are orders to the gateway; all others are a person's own affairs. In a chat
# the settings name who may use which command; whoever may use one of these acts as an operator.
BY_CHAT: Final[Mapping[str, str]] = MappingProxyType(
    {"reload-mcp": "mcp.reload", "restart": "gateway.restart"}
)
