"""The settings of access: who is answered on a platform, who may use commands, which agent answers.

Part of config; the policies that read them are `hermes.people` and `hermes.agents`. Everybody is
named by the id that the platform gives them, never by a display name.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from hermes.config.section import Means, Name, Named, Section, Word
from hermes.ports.people import Unknown

InGroups = Literal["tell", "ignore", "allow"]


def _as_text(value: object) -> object:
    """Ids are text on every platform, also where YAML reads them as numbers."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else value


def _freeze(table: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType(dict(table))


PlatformId = Annotated[
    str, BeforeValidator(_as_text), Field(min_length=1), Means("an id as the platform writes it")
]
Ids = tuple[PlatformId, ...]
CommandsById = Annotated[
    Mapping[str, tuple[Word, ...]], AfterValidator(_freeze), PlainSerializer(dict)
]
PersonName = Annotated[
    str,
    Field(pattern=r"^(p_\S+|[a-z0-9][a-z0-9_-]*:.+)$"),
    Means('"platform:user_id" such as "telegram:12345", or the id of a person such as "p_06g..."'),
]


class CommandSettings(Section):
    """Who may use which chat commands."""

    gated: bool | None = Field(
        default=None,
        description="Whether commands are restricted. Unset, they are restricted once there is "
        "an admin. If they are not restricted, everyone may use every command.",
    )
    admins: Ids = Field(default=(), description="Who may use every command, by user id.")
    allowed: tuple[Word, ...] = Field(
        default=(), description="The commands that everyone may use, such as stop and status."
    )
    people: CommandsById = Field(
        default_factory=lambda: MappingProxyType({}),
        description="More commands for one person, by user id.",
    )


class CommandScopes(Section):
    """The chat commands in direct chats and in groups."""

    dm: CommandSettings = Field(default_factory=CommandSettings)
    group: CommandSettings = Field(default_factory=CommandSettings)


class PlatformAccess(Section):
    """Who is answered on one platform."""

    unknown: Unknown | None = Field(
        default=None,
        description="How a direct message of an unknown sender is answered: with a pairing code, "
        "with the sign-up text, not at all, or like any other. Unset, it is `pair` if there is "
        "an allow-list, otherwise the channel manifest's default.",
    )
    groups: InGroups | None = Field(
        default=None,
        description="How an unknown sender is answered in a group: with a hint to write "
        "directly, not at all, or like any other. Unset, it follows `unknown`.",
    )
    allow_all: bool = Field(default=False, description="Whether everyone is answered.")
    allow_from: Ids = Field(default=(), description="Who is answered everywhere, by user id.")
    group_allow_from: Ids = Field(default=(), description="Who is answered in groups, by user id.")
    allowed_chats: Ids = Field(
        default=(),
        description="The groups in which people are answered, by chat id; empty means all. "
        "Without `group_allow_from`, everyone in these groups is answered.",
    )
    require_mention: bool = Field(
        default=True,
        description="Whether the bot answers a group message only if it mentions the bot or "
        "replies to it.",
    )
    free_chats: Ids = Field(
        default=(),
        description=("The groups in which the bot answers every message, by chat id."),
    )
    bots: Literal["ignore", "addressed", "all"] = Field(
        default="ignore",
        description="Whether other bots are answered: never, if they mention this bot, or like "
        "people.",
    )
    bot_turns: int = Field(
        default=3,
        ge=0,
        description="How many turns in a row bots get in a chat until a person writes there, so "
        "that two bots do not talk forever; 0: no limit.",
    )
    signup_text: str = Field(
        default="",
        description="The text that unknown senders get with `signup`, such as where to sign up.",
    )
    commands: CommandScopes = Field(default_factory=CommandScopes)


class AccessSettings(Section):
    """Who is answered, and who may use commands."""

    allow_all: bool = Field(
        default=False, description="Whether everyone is answered on every platform."
    )
    platforms: Named[PlatformAccess] = Field(
        default_factory=lambda: MappingProxyType({}), description="The rules of one platform."
    )


class AgentRuleSettings(Section):
    """A rule that gives an agent to the messages that fit all it says."""

    agent: Name | None = Field(default=None, description="The agent that answers.")
    platform: Name | None = Field(default=None, description="Only on this platform.")
    chat_type: Literal["dm", "group", "channel", "thread"] | None = Field(
        default=None, description="Only in chats of this kind."
    )
    guild: PlatformId | None = Field(
        default=None, description="Only in this guild, workspace or server."
    )
    chat: PlatformId | None = Field(default=None, description="Only in this chat.")
    thread: PlatformId | None = Field(default=None, description="Only in this thread of a chat.")
    person: PersonName | None = Field(
        default=None, description="Only for this person, on one channel or on all their channels."
    )


def conditions(rule: AgentRuleSettings) -> tuple[tuple[str, str], ...]:
    """Return what a rule asks of a message, by field."""
    names = ("person", "thread", "chat", "guild", "chat_type", "platform")
    found = ((name, getattr(rule, name)) for name in names)
    return tuple((name, value) for name, value in found if value is not None)


Fault = tuple[tuple[str, ...], object, str, str]


def agent_rule_faults(
    rules: Mapping[str, AgentRuleSettings], agents: Mapping[str, object]
) -> Iterator[Fault]:
    """Yield what is wrong with the rules: a key, its value, what was expected, and the fix."""
    seen: dict[tuple[tuple[str, str], ...], str] = {}
    for name, rule in rules.items():
        asked = conditions(rule)
        if rule.agent is None or rule.agent not in agents:
            text = f"expected one of the agents: {', '.join(agents)}"
            fix = f"set it to one of them, or add agents.{rule.agent or 'NAME'}"
            yield ("agent_rules", name, "agent"), rule.agent, text, fix
        if not asked:
            text = "but the rule says of no message that it is meant"
            fix = "add platform, chat_type, guild, chat, thread or person, or set default_agent"
            yield ("agent_rules", name, "agent"), rule.agent, text, fix
        elif asked in seen:
            text = f"but agent_rules.{seen[asked]} is for the same messages"
            yield ("agent_rules", name, "agent"), rule.agent, text, "remove one of the two"
        seen[asked] = name
