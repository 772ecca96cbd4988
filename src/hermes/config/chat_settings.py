"""The settings of conversations: who is answered where, how messages are accepted, replies sent.

Part of config; docs/settings.md is made of the docstrings below the fields. Everybody is named by
the id that the platform gives them, never by a display name.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from hermes.config.entries import BUSY_PLATFORMS, BusyPolicy
from hermes.config.section import (
    Accounts,
    AdminId,
    ChannelKey,
    Count,
    Days,
    Delay,
    Extra,
    Means,
    Name,
    Named,
    OfChannels,
    OfChatTypes,
    OfGroupTypes,
    Seconds,
    Section,
    SkillNames,
    StreamTransport,
    Table,
    Url,
    Whole,
    Word,
    no_entries,
)
from hermes.ports.people import Unknown


class InboxSettings(Section):
    """Accepting messages."""

    max_waiting: Count = 5000
    """If this many messages wait, new ones are refused with a retry time. The last tenth is
    reserved for accounts with few waiting messages."""
    max_waiting_each: Count = 50
    """If this many messages of one person wait, new ones of theirs are refused with a retry time;
    commands such as `/stop` are counted separately."""
    expire_after_s: Seconds = 3600
    """A message older than this when its turn would start expires."""
    refusals_kept: Whole = 10_000
    """How many refused messages are remembered for `hermes why`."""


class LaneSettings(Section):
    """The lanes that keep each session in order."""

    lease_s: Seconds = 30
    """How long a gateway may be silent before another one on the same store takes over its sessions.
    A gateway on SQLite is alone with its store, and nobody takes over from it."""
    max_attempts: Count = 5
    """A message whose turn was cut off this often fails for good."""
    max_restarts: Whole = 3
    """A session that was cut off by this many restarts in a row is suspended; 0: never."""
    resume_within_s: Delay = 3600
    """A turn that was cut off longer ago than this is not resumed; 0: always resumed."""
    max_running: Count = 1000
    """At most this many lanes run at once. The last tenth is reserved for accounts, tokens and keys
    without a running lane."""


ResetMode = Literal["daily", "idle", "both", "none"]
TimeOfDay = Annotated[
    str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$"), Means("a time of day such as 04:00")
]
Minutes = Annotated[int, Field(ge=1, le=525_600)]


class ResetSettings(Section):
    """When a conversation ends by itself."""

    mode: ResetMode = "both"
    """daily, idle, both, or none; with none only /new starts a new conversation."""
    at: TimeOfDay = "04:00"
    """The time of the daily reset, in time_zone."""
    idle_min: Minutes = 1_440
    """A conversation ends after this many minutes of silence."""


class SessionCacheSettings(Section):
    """What is cached of conversations, so that their next message is answered without reading the
    store."""

    max: Annotated[int, Field(ge=1, le=1_000_000)] = 128
    """How many recently used conversations are cached; those with a running turn are kept in
    addition."""
    idle_s: Annotated[float, Field(gt=0)] = 3_600.0
    """A cached conversation is dropped after this many seconds of silence."""


Sharing = Literal["per_user", "shared"]


class SessionSettings(Section):
    """Conversations: who shares one, when they end, and how long those that ended are kept."""

    groups: Sharing = "per_user"
    """Whether the people of a group or channel have a conversation each (per_user) or one together
    (shared)."""
    group_chat_types: OfGroupTypes[Sharing] = Field(default_factory=no_entries)
    """groups for one chat type: group or channel."""
    group_platforms: OfChannels[Sharing] = Field(default_factory=no_entries)
    """groups for one platform, by its name; it overrides that of the chat type, and the one of a chat
    (platforms.NAME.chats.ID.groups) overrides both."""
    threads: Sharing = "shared"
    """Whether the people in a thread have one conversation together (shared) or one each (per_user).
    Conversations over the REST API and A2A are shared as their callers say."""
    thread_chat_types: OfChatTypes[Sharing] = Field(default_factory=no_entries)
    """threads for one type of the chat in which the thread is: dm, group or channel; thread where the
    platform has chats that are threads, such as the topics of a forum."""
    thread_platforms: OfChannels[Sharing] = Field(default_factory=no_entries)
    """threads for one platform, by its name; it overrides that of the chat type, and the one of a chat
    (platforms.NAME.chats.ID.threads) overrides both."""

    reset: ResetSettings = Field(default_factory=ResetSettings)
    reset_chat_types: Named[ResetSettings] = Field(default_factory=no_entries)
    """Reset rules for one chat type: dm, group, channel or thread."""
    reset_platforms: OfChannels[ResetSettings] = Field(default_factory=no_entries)
    """Reset rules for one platform, by its name; they override those of chat types. In the web chat
    (web) and hermes chat (rest) only such a rule ends conversations."""
    tell_reset: bool = True
    """Whether people are told why a new conversation started."""
    context: bool = True
    """Whether the model is told where a conversation takes place, with whom, and which platforms
    are connected; not for programs that call the API."""
    cache: SessionCacheSettings = Field(default_factory=SessionCacheSettings)
    watch_s: Seconds = 60
    """How often conversations that are over are looked for."""
    prune: bool = False
    """Whether conversations that ended long ago are deleted, once a day."""
    prune_days: Annotated[int, Field(ge=1, le=36_500)] = 90
    """With prune, conversations that ended this many days ago are deleted."""
    retention_days: Annotated[int, Field(ge=0, le=36_500)] = 0
    """What was said in a conversation is deleted this many days after it was last used, also if
    nothing has ended it; 0: never. Commands that are answered at once do not use it."""
    person_retention_days: Annotated[int, Field(ge=0, le=36_500)] = 0
    """People who have written nothing, no command either, for this many days are erased, as by
    `hermes users erase`; 0: never. The owner, blocked people, and whoever has a key, a scheduled job or credits left (beside
    a start grant alone) are kept, and whoever was let in or had credits booked in these days."""


class BusySettings(Section):
    """What happens with a message that arrives while its session is answering."""

    default: BusyPolicy | None = None
    """The policy of every platform that busy.platforms does not list; default: that of the channel's
    manifest, which is `interrupt` for chats and `queue` where callers wait for their own reply."""
    platforms: OfChannels[BusyPolicy] = Field(default_factory=lambda: BUSY_PLATFORMS)
    """The policy of one platform, by its name."""
    notice: bool = False
    """Whether people whose message waits for a running answer are told so, once per answer."""
    notice_platforms: OfChannels[bool] = Field(default_factory=no_entries)
    """notice for one platform, by its name."""
    stop_suspends: bool = False
    """Whether /stop ends the conversation too: the next message starts a new one."""
    photo_burst_s: Delay = 1.0
    """Photos of one person that are at most this far apart are one message; the first waits this
    long for the next. 0: no wait."""
    merge_follow_ups: bool = True
    """Whether messages that a person sends while an earlier one is in progress or waits are
    answered as one, on chat platforms. /queue sends a message separately."""
    merge_platforms: OfChannels[bool] = Field(default_factory=no_entries)
    """merge_follow_ups for one platform, by its name. Platforms whose callers wait for their own
    reply, such as rest, answer one by one unless listed here."""
    join_s: Delay = 2.0
    """A text of the same person that arrives at most this long after a message, before anything of
    the reply was shown, joins it instead of interrupting it, if follow-ups are answered as one. 0:
    never."""
    follow_up_s: Delay = 0.3
    """A message that has interrupted or joined a reply waits this long for the next one, if
    follow-ups are answered as one."""
    max_merged: Annotated[int, Field(ge=1, le=100)] = 20
    """At most this many messages are answered as one."""
    max_merged_chars: Annotated[int, Field(ge=1)] = 32_000
    """At most this many characters are answered as one message."""
    max_background: Annotated[int, Field(ge=0)] = 5
    """How many /background tasks of one session may run at a time."""


class OutboxSettings(Section):
    """Sending replies."""

    max_age_s: Seconds = 3600
    """A reply older than this is never sent; it becomes a dead letter."""
    send_timeout_s: Seconds = 10
    """The time limit of one call to a platform."""
    quick_delays_s: Annotated[tuple[Delay, ...], Field(min_length=1)] = (0, 1, 3, 9)
    """The delays before the first attempts to send a reply."""
    later_delays_s: tuple[Delay, ...] = (60, 300, 1500)
    """The delays before the later attempts."""
    breaker_failures: Count = 10
    """This many failures in a row stop sending to a platform for a while."""
    breaker_window_s: Seconds = 300
    """Only failures within this time count."""
    breaker_open_s: Seconds = 120
    """How long sending is stopped then."""
    max_messages: Whole = 12
    """A reply of more messages than this is sent as its first ones and a file with all of it; where
    the platform takes no files, the last message says how much is missing. 0: any number."""
    dead_letter_days: Days = 7
    """How long dead letters, and replies held for you because they may have arrived, are kept
    whole, regardless of `store.retention_days`; then they are dropped."""
    max_waiting: Count = 5000
    """If this many replies wait, new messages are refused."""
    directory_s: Seconds = 300
    """How often platforms are asked for the chats to which messages can be sent by name."""


class StreamingSettings(Section):
    """Showing a reply while it is being written."""

    transport: StreamTransport = "auto"
    """How previews are shown; auto uses what the platform supports."""
    interval_s: Seconds = 0.8
    """At least this long between two edits."""
    min_chars: Count = 24
    """At least this many new characters per edit."""
    slow_down: Annotated[float, Field(ge=1, le=10, allow_inf_nan=False)] = 2
    """If a platform refuses an edit because there were too many, the interval grows by this
    factor."""
    max_refusals: Count = 3
    """After this many such refusals in a row, the rest of a reply is not shown while it is
    written."""
    cursor: str = " ▉"
    """The cursor at the end of an unfinished text."""
    fresh_after_s: Delay = 60
    """If a preview was shown for this long, the reply is sent as a new message and the preview
    deleted, so that people notice it; 0: never."""


class DisplaySettings(Section):
    """What people see beside the replies."""

    vanish_s: Delay = 0
    """A notice of the moment, such as that a message waits or that a button is not theirs to press, is
    taken back from the chat after this many seconds, where the platform can; 0: it stays."""
    vanish_platforms: OfChannels[Delay] = Field(default_factory=no_entries)
    """vanish_s for one platform, by its name."""

    reactions: bool = False
    """Whether the bot shows with a reaction on a person's message how far it is: seen, working, done."""
    reaction_platforms: OfChannels[bool] = Field(default_factory=no_entries)
    """reactions for one platform, by its name."""


class ApprovalSettings(Section):
    """Asking before a tool runs."""

    expire_after_s: Seconds = 3600
    """An approval request expires after this long."""
    admins: tuple[AdminId, ...] = ()
    """Who may approve in groups, each as platform:user_id."""
    allow_self: bool = True
    """Whether a person may approve what their own message caused."""
    reactions: bool = False
    """Whether a thumb up or down on the question decides, too, where a platform has reactions."""


class CronSettings(Section):
    """Jobs that people schedule."""

    enabled: bool = True
    """Whether scheduled jobs run; existing jobs are kept in either case."""
    jobs_per_person: Annotated[int, Field(ge=0, le=100_000)] = 50
    """One person has at most this many jobs at a time."""
    text_chars: Count = 8_000
    """The text of a job has at most this many characters."""
    max_chars: Count = 4_000
    """A longer result of a job is stored whole and sent cut, with the place of the rest."""
    shown_chars: Count = 3_800
    """How many characters of such a result are sent."""
    least_gap_s: Annotated[int, Field(ge=60, le=31_536_000)] = 60
    """Two runs of a job are at least this far apart."""


_LABEL = r"\w([\w-]*\w)?"
LinkHost = Annotated[
    str,
    Field(max_length=253, pattern=rf"^(\*\.)?{_LABEL}(\.{_LABEL})*\.?$"),
    Means("a host such as example.com or *.example.com"),
]


class MediaSettings(Section):
    """Pictures, sounds and files that people send and are sent."""

    max_bytes: Count = 20_000_000
    """The largest attachment that is received or sent, in bytes."""
    max_files: Count = 10
    """At most this many attachments of one message are fetched or sent."""
    timeout_s: Seconds = 30.0
    """How long a turn waits for all attachments of its message together."""
    max_pixels: Count = 50_000_000
    """A picture with more pixels is refused; the size is read from its header."""
    cache_mb: Count = 500
    """The maximum disk space of all stored attachments."""
    cache_mb_each: Count = 100
    """When that is full, the oldest attachments of people with more than this much are deleted
    first, and the last tenth is kept for others."""
    keep_days: Days = 7
    """How long an attachment is stored after it arrived, unless still needed."""
    folders: tuple[Word, ...] = ()
    """Folders whose files an agent may send with a MEDIA: line, in addition to files that were sent
    to it. Hidden files, and files in Hermes' own home folder, are never sent."""
    link_hosts: tuple[LinkHost, ...] = ()
    """Hosts from which the gateway downloads https addresses in MEDIA: lines; `*.example.com`
    matches every name below example.com. Addresses of other hosts are never fetched: the reply
    shows them as text."""


def _as_text(value: object) -> object:
    """Ids are text on every platform, also where YAML reads them as numbers."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else value


ChatName = Annotated[Word, BeforeValidator(_as_text)]


class RateSettings(Section):
    """How fast a platform may be written to; if unset, the channel's manifest decides."""

    per_second: Delay | None = None
    """At most this many messages a second in total; 0: no limit."""
    chat_gap_s: Delay | None = None
    """At least this long between two messages to one chat."""
    group_gap_s: Delay | None = None
    """At least this long between two messages to one group."""


class ChatSettings(Section):
    """One chat on a platform, and its threads."""

    prompt: str = Field(default="", max_length=20_000)
    """What the model is told in this chat, after everything else that it is told of its place."""
    skills: SkillNames = ()
    """Skills of this chat, in addition to those of its agent; "*" means all."""
    agent: Name | None = None
    """The agent that answers in this chat; one of agent_rules for a thread or a person comes first."""
    groups: Sharing | None = None
    """sessions.groups for this chat."""
    threads: Sharing | None = None
    """sessions.threads for the threads in this chat, or for this chat if it is a thread."""


class ChannelSettings(Section):
    """One bot on a chat platform."""

    enabled: bool = False
    """Whether the platform is connected; setting its credential enables it."""
    agent: Name | None = None
    """The agent that answers there, unless one of agent_rules that names more than the platform says
    otherwise; default: as agent_rules and default_agent say."""
    home_channel: ChatName | None = None
    """The chat, or chat:thread, for messages that name only the platform."""
    rates: RateSettings = Field(default_factory=RateSettings)
    connect_timeout_s: Seconds = 30
    """The time limit for connecting; after it the next try follows, later each time."""
    streaming: StreamTransport | None = None
    """How previews are shown on this platform; default: streaming.transport."""
    chats: Table[ChatSettings] = Field(default_factory=no_entries)
    """Single chats by their ids on the platform: what the model is told there, which skills it has, who
    answers."""
    extra: Extra = Field(default_factory=no_entries)
    """The platform's own settings; see its page under channels."""


class AccountSettings(ChannelSettings):
    """One more bot on a chat platform; it shares no setting with the others."""

    enabled: bool = True
    """Whether this bot is connected."""


class PlatformSettings(ChannelSettings):
    """One chat platform, and its own bot."""

    accounts: Accounts[AccountSettings] = Field(default_factory=no_entries)
    """More bots on this platform, by name; elsewhere a bot is called platform/name, such as
    telegram/sales."""


InGroups = Literal["tell", "ignore", "allow"]
PlatformId = Annotated[
    str, BeforeValidator(_as_text), Field(min_length=1), Means("an id as the platform writes it")
]
Ids = tuple[PlatformId, ...]
PersonName = Annotated[
    str,
    Field(pattern=r"^(p_\S+|[a-z0-9][a-z0-9_-]*:.+)$"),
    Means('"platform:user_id" such as "telegram:12345", or the id of a person such as "p_06g..."'),
]


class CommandSettings(Section):
    """Who may use which chat commands."""

    gated: bool | None = None
    """Whether commands are restricted. Unset, they are restricted once there is an admin. If they
    are not restricted, everyone may use every command."""
    admins: Ids = ()
    """Who may use every command, by user id."""
    allowed: tuple[Word, ...] = ()
    """The commands that everyone may use, such as stop and status."""
    people: Table[tuple[Word, ...]] = Field(default_factory=no_entries)
    """More commands for one person, by user id."""


class CommandScopes(Section):
    """The chat commands in direct chats and in groups."""

    dm: CommandSettings = Field(default_factory=CommandSettings)
    group: CommandSettings = Field(default_factory=CommandSettings)


class PlatformAccess(Section):
    """Who is answered on one platform."""

    unknown: Unknown | None = None
    """How a direct message of an unknown sender is answered: with a pairing code, with the sign-up
    text, not at all, or like any other. Unset, it is `pair` if there is an allow-list, otherwise
    the channel manifest's default."""
    groups: InGroups | None = None
    """How an unknown sender is answered in a group: with a hint to write directly, not at all, or
    like any other. Unset, it follows `unknown`."""
    allow_all: bool = False
    """Whether everyone is answered."""
    allow_from: Ids = ()
    """Who is answered everywhere, by user id."""
    group_allow_from: Ids = ()
    """Who is answered in groups, by user id."""
    allowed_chats: Ids = ()
    """The groups in which people are answered, by chat id; empty means all. Without
    `group_allow_from`, everyone in these groups is answered."""
    require_mention: bool = True
    """Whether the bot answers a group message only if it mentions the bot or replies to it."""
    free_chats: Ids = ()
    """The groups in which the bot answers every message, by chat id."""
    bots: Literal["ignore", "addressed", "all"] = "ignore"
    """Whether other bots are answered: never, if they mention this bot, or like people."""
    bot_turns: Annotated[int, Field(ge=0)] = 3
    """How many turns in a row bots get in a chat until a person writes there, so that two bots do
    not talk forever; 0: no limit."""
    signup_text: str = ""
    """The text that unknown senders get with `signup`, such as where to sign up."""
    commands: CommandScopes = Field(default_factory=CommandScopes)


class PairingSettings(Section):
    """The one-time codes with which you let unknown senders in."""

    code_length: Annotated[int, Field(ge=8, le=32)] = 8
    """How many characters a code has, out of 32 letters and digits that are not easily confused.
    Also for codes that link accounts."""
    valid_s: Seconds = 3600
    """How long a code is valid, in seconds."""
    interval_s: Seconds = 600
    """How long a sender waits until they can get another code, in seconds."""
    max_open: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """How many codes may be open at a time. Each platform that pairs has an equal share. An open
    code is never withdrawn to make room."""
    max_failures: Count = 5
    """After this many wrong codes, no code is accepted on that platform for a while. Also for codes
    that link accounts, for their sender."""
    lock_s: Seconds = 3600
    """How long no code is accepted then, in seconds."""
    tell_admins: bool = False
    """Whether the admins of `access.platforms.NAME.commands.dm.admins` are told of each code in their
    direct chat with the bot, and can let the sender in there, with a button where there are buttons."""


class OidcSettings(Section):
    """Signing in to the web chat with an identity provider, by OpenID Connect."""

    issuer: Url | None = None
    """The identity provider, as it names itself; what it says of itself is read from
    `/.well-known/openid-configuration` below it. Without it nobody signs in this way."""
    name: Word = "single sign-on"
    """What the button says: Sign in with NAME."""
    client_id: Word | None = None
    """The id of Hermes at the provider. The address to return to is `/signin/provider`."""
    secret: Word | None = None
    """The name of the secret of that id (`hermes secrets set NAME`), or of a variable; without it
    Hermes is a public client."""
    scopes: tuple[Word, ...] = ("openid", "email", "profile")
    """What the provider is asked for."""
    emails: tuple[Word, ...] = ()
    """People with one of these verified addresses may sign in."""
    domains: tuple[Word, ...] = ()
    """People with a verified address in one of these domains may sign in."""
    groups: tuple[Word, ...] = ()
    """People in one of these groups may sign in."""
    groups_claim: Word = "groups"
    """Where the id token names the groups."""
    everyone: bool = False
    """Whether everybody whom the provider knows may sign in."""


class AccessSettings(Section):
    """Who is answered, and who may use commands."""

    allow_all: bool = False
    """Whether everyone is answered on every platform."""
    pairing: PairingSettings = Field(default_factory=PairingSettings)
    oidc: OidcSettings = Field(default_factory=OidcSettings)
    platforms: OfChannels[PlatformAccess] = Field(default_factory=no_entries)
    """The rules of one platform, or of one of its bots such as telegram/sales, which then has none of
    its platform's."""


class MessageConditions(Section):
    """Which messages a rule is about: those that meet all its conditions."""

    platform: ChannelKey | None = None
    """Only on this platform, or by this bot, such as telegram/sales."""
    chat_type: Literal["dm", "group", "channel", "thread"] | None = None
    """Only in chats of this kind."""
    guild: PlatformId | None = None
    """Only in this guild, workspace or server."""
    chat: PlatformId | None = None
    """Only in this chat."""
    thread: PlatformId | None = None
    """Only in this thread of a chat."""
    person: PersonName | None = None
    """Only for this person, on one channel or on all their channels."""


class AgentRuleSettings(MessageConditions):
    """A rule that assigns an agent to the messages that meet all its conditions."""

    agent: Name | None = None
    """The agent that answers."""


class SkillBindingSettings(MessageConditions):
    """Skills for the conversations that meet all conditions, in addition to those of their agent.

    With `person` they count only where that person is alone with the agent.
    """

    skills: SkillNames = ()
    """The skills, by name; "*" means all."""


class SkillSettings(Section):
    """Skills: folders with instructions in `skills/` of the home."""

    bindings: Named[SkillBindingSettings] = Field(default_factory=no_entries)
    """Which skills there are in a channel, a chat or for a person, beside those of `agents.NAME.skills`."""
    listed: int = Field(default=50, ge=1, le=200)
    """Of how many skills a model is given a line at the beginning of a session: the newest ones, by their
    `SKILL.md`. Of the others it is given the names, and can read them all the same."""


def conditions(rule: MessageConditions) -> tuple[tuple[str, str], ...]:
    """Return the conditions of a rule, by field."""
    names = ("person", "thread", "chat", "guild", "chat_type", "platform")
    found = ((name, getattr(rule, name)) for name in names)
    return tuple((name, value) for name, value in found if value is not None)
