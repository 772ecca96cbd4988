"""The courier: resolves a named target, checks who may send there, and writes the delivery.

Implements `ports.sends.Courier`; tools and schedules use it. The platform's sender sends the
delivery like every reply, and the sessions of the chat are told about it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from hermes.errors import BadRequest, Forbidden, NotFound
from hermes.message.channel_name import account_of, platform_of
from hermes.message.outcome import DeliveryState
from hermes.message.session_key import is_direct, is_groups, read_session_key
from hermes.message.target import Destination, parse_target
from hermes.outbox.local_file import LocalFiles
from hermes.ports.channel import Target
from hermes.ports.clock import Clock
from hermes.ports.directory import ChatEntry
from hermes.ports.sends import (
    FoundTarget,
    KnownSession,
    NewChat,
    NewSend,
    Parcel,
    Reach,
    SendResult,
    SendStore,
)
from hermes.ports.store import Store
from hermes.similar_words import did_you_mean

_ACCOUNT = "default"
_MIRRORS = 10
_OWN_CHATS = 5


class OwnChat(msgspec.Struct, frozen=True, kw_only=True):
    """A person's own chat on a platform that is only read: it begins when something is sent there."""

    platform: str
    chat_id: str
    user_id: str
    lane: str


class Platforms(msgspec.Struct, frozen=True, kw_only=True):
    """The platforms of this gateway: their names, which need a sender, and their home channels.

    `own_chats` begin when something is sent there.
    """

    names: Collection[str]
    pushed: Collection[str]
    homes: Mapping[str, str]
    own_chats: Sequence[OwnChat] = ()


class OutboxCourier:
    """Sends messages to delivery targets."""

    def __init__(
        self,
        store: Store,
        *,
        platforms: Platforms,
        agents: Sequence[str],
        has_admins: bool,
        files: LocalFiles,
        wake_lane: Callable[[str], None],
        wake_outbox: Callable[[str], None],
        clock: Clock,
        is_operators: bool = False,
    ) -> None:
        self._store = store
        self._is_operators = is_operators
        self._platforms = platforms
        self._agents = agents
        self._has_admins = has_admins
        self._files = files
        self._wake_lane = wake_lane
        self._wake_outbox = wake_outbox
        self._clock = clock

    async def find(
        self, target: str, *, message_id: str, person_id: str, is_operators: bool = False
    ) -> FoundTarget:
        """Resolve a target as written; raise `Refused` with the possible targets otherwise."""
        wanted = parse_target(target)
        if wanted.kind == "local":
            return FoundTarget(name="local", reach="asks", target=None)
        search = _Search(
            self._store.sends,
            agents=self._agents,
            person_id=person_id,
            is_operators=is_operators or self._is_operators,
        )
        origin = await self._origin(message_id)
        if wanted.kind == "origin":
            if origin is None:
                raise NotFound("there is no chat that this comes from; name another target")
            return _place("origin", origin, reach="own", sessions=await search.sessions(origin))
        if wanted.platform not in self._platforms.names:
            guess = did_you_mean(wanted.platform, self._platforms.names)
            told = f"there is no platform {wanted.platform!r} here{guess}"
            raise await self._unknown(wanted, person_id, told)
        if wanted.kind == "home":
            return await self._home(wanted, search, origin=origin)
        return await self._chat(wanted, search, origin=origin)

    async def _origin(self, message_id: str) -> Target | None:
        record = await self._store.inbox.get(message_id)
        if record is None or record.event is None:
            return None
        event = record.event
        return Target(
            platform=event.source.platform,
            account=event.account,
            chat_id=event.source.chat_id,
            thread_id=event.source.thread_id,
            group=event.source.chat_type != "dm",
        )

    async def _home(
        self, wanted: Destination, search: "_Search", *, origin: Target | None
    ) -> FoundTarget:
        """Return the home channel of a platform, or the person's own chat if there is none."""
        platform = wanted.platform
        home = self._platforms.homes.get(platform)
        if home is not None:
            chat = parse_target(f"{platform}:{home}")
            place = await self._chat(chat, search, origin=origin, at_least="asks")
            return msgspec.structs.replace(place, name=platform)
        own = await self._own_chats(search.person_id, platform)
        if not own:
            told = f"{platform} has no home channel (platforms.{platform}.home_channel)"
            raise await self._unknown(wanted, search.person_id, told)
        return await self._chat(own[0], search, origin=origin)

    async def _chat(
        self,
        wanted: Destination,
        search: "_Search",
        *,
        origin: Target | None,
        at_least: Reach = "admins",
    ) -> FoundTarget:
        target = _target(wanted)
        sessions = await search.sessions(target)
        if not sessions and wanted.thread_id is not None:
            # Some platforms have ids that contain a `:`, and models copy them unchanged.
            whole = Destination("chat", wanted.platform, f"{wanted.chat_id}:{wanted.thread_id}")
            sessions = await search.sessions(_target(whole))
            target = _target(whole if sessions else wanted)
        if not sessions:
            named = await self._named(wanted, search)
            if named is not None:
                wanted, target = named, _target(named)
                sessions = await search.sessions(target)
        opened = None if sessions else await self._opened(target, search)
        if opened is not None:
            return opened
        if not sessions and target.platform not in self._platforms.pushed:
            told = f"nobody has written in {wanted} yet, so there is no such chat"
            raise await self._unknown(wanted, search.person_id, told)
        reach = await search.reach(sessions, is_origin=_is_same(target, origin)) or at_least
        if reach == "admins" and not self._has_admins and not search.is_operators:
            raise Forbidden(
                f"{wanted} is not a chat of this person, and nobody is named who could allow it "
                f"(approvals.admins); possible targets are {await self._possible(search.person_id)}"
            )
        account = sessions[0].account if sessions else target.account
        is_group = any(not is_direct(one.lane) for one in sessions)
        target = msgspec.structs.replace(target, account=account, group=is_group)
        return _place(str(wanted), target, reach=reach, sessions=sessions)

    async def _opened(self, target: Target, search: "_Search") -> FoundTarget | None:
        """Return an own chat in which nothing was said yet; operators and its person may begin it."""
        for chat in self._platforms.own_chats:
            if (chat.platform, chat.chat_id) != (target.platform, target.chat_id):
                continue
            person = await self._store.people.find(chat.platform, chat.user_id)
            if person is None or not (search.is_operators or person.id == search.person_id):
                return None
            opens = NewChat(
                lane=chat.lane,
                person_id=person.id,
                platform=chat.platform,
                chat_id=chat.chat_id,
            )
            return FoundTarget(
                name=f"{chat.platform}:{chat.chat_id}",
                reach="own",
                target=target,
                sessions=(chat.lane,),
                opens=opens,
            )
        return None

    async def _named(self, wanted: Destination, search: "_Search") -> Destination | None:
        """Return the chat that a name of the directory refers to.

        People find only chats that they are in; operators find all.
        """
        entries = await self._store.directory.chats(wanted.platform)
        if not search.is_operators:
            entries = tuple([one for one in entries if await search.has_been_in(one)])
        entry = find_chat(entries, wanted.chat_id)
        if entry is None or entry.chat_id == wanted.chat_id:
            return None
        return msgspec.structs.replace(wanted, chat_id=entry.chat_id)

    async def _own_chats(self, person_id: str, platform: str | None = None) -> list[Destination]:
        """Return the person's own direct chats, newest first."""
        keys = [
            read_session_key(session.lane)
            for session in await self._store.sends.direct_chats(person_id, limit=10 * _OWN_CHATS)
        ]
        user = await self._store.users.get(person_id)
        # For a person who has not written for long: most direct chats have the name of their
        # person.
        places = [
            (name, channel.user_id)
            for channel in (() if user is None else user.channels)
            for name in sorted({channel.platform, *self._platforms.names})
            if platform_of(name) == channel.platform
        ]
        for name, user_id in places:
            found = await self._store.sends.sessions(
                name, user_id, thread_id=None, agents=self._agents
            )
            keys += [
                read_session_key(one.lane)
                for one in found
                if one.person_id == person_id and is_direct(one.lane)
            ]
        chats = dict.fromkeys(Destination("chat", key.platform, key.chat_id) for key in keys)
        return [
            chat
            for chat in chats
            if chat.platform in self._platforms.names and platform in (None, chat.platform)
        ]

    async def _unknown(self, wanted: Destination, person_id: str, told: str) -> NotFound:
        return NotFound(
            f"{told}, so {str(wanted)!r} cannot be reached; possible targets are "
            f"{await self._possible(person_id)}"
        )

    async def _possible(self, person_id: str) -> str:
        """Return the possible targets, as text for a model or an operator."""
        if self._is_operators:
            known = [f"{name} (its home channel)" for name in sorted(self._platforms.homes)]
            return ", ".join((*known, "what `hermes channels directory` lists, local (a file)"))
        own = [str(chat) for chat in (await self._own_chats(person_id))[:_OWN_CHATS]]
        homes = sorted(self._platforms.homes)
        told = ["origin (this chat)", *(f"{chat} (the person's own)" for chat in own)]
        told += [f"{name} (its home channel)" for name in homes]
        return ", ".join((*told, "local (a file)"))

    async def send(self, parcel: Parcel, place: FoundTarget) -> SendResult:
        """Send once, even if called repeatedly; return when the delivery is on disk."""
        if place.target is None:
            where, is_new = await self._files.write(parcel.id, parcel.text)
            return SendResult(is_new=is_new, where=where)
        platform = place.target.platform
        is_pushed = platform in self._platforms.pushed
        own = await self._store.inbox.get(parcel.message_id)
        send = NewSend(
            id=parcel.id,
            message_id=parcel.message_id,
            person_id=parcel.person_id,
            target=place.target,
            parts=parcel.parts,
            state=DeliveryState.PENDING if is_pushed else DeliveryState.SENT,
            at=self._clock.now(),
            purpose=parcel.purpose,
            # A turn's own session contains the call that sent it. On pull platforms people read it
            # only in the conversation.
            mirrors=tuple(
                lane for lane in place.sessions if not is_pushed or own is None or own.lane != lane
            ),
            opens=place.opens,
        )
        is_new = await self._store.sends.put(send, kept=self._kept)
        if is_pushed:
            self._wake_outbox(platform)
        return SendResult(is_new=is_new)

    def _kept(self, lanes: tuple[str, ...]) -> None:
        for lane in lanes:
            self._wake_lane(lane)


class _Search:
    """Looks up the sessions of chats for one person."""

    def __init__(
        self,
        sends: SendStore,
        *,
        agents: Sequence[str],
        person_id: str,
        is_operators: bool,
    ) -> None:
        self._sends = sends
        self._agents = agents
        self.person_id = person_id
        self.is_operators = is_operators

    async def sessions(self, target: Target) -> tuple[KnownSession, ...]:
        return await self._sends.sessions(
            target.platform, target.chat_id, thread_id=target.thread_id, agents=self._agents
        )

    async def has_been_in(self, entry: ChatEntry) -> bool:
        """Return True if the person has written in a chat."""
        return bool(
            await self._theirs(
                await self.sessions(_target(Destination("chat", entry.platform, entry.chat_id)))
            )
        )

    async def _theirs(self, sessions: Sequence[KnownSession]) -> list[KnownSession]:
        """Return the person's sessions, and those of whole groups in which they wrote of late."""
        return [
            one
            for one in sessions
            if one.person_id == self.person_id
            or (
                is_groups(one.lane) and await self._sends.has_written(self.person_id, lane=one.lane)
            )
        ]

    async def reach(self, sessions: Sequence[KnownSession], *, is_origin: bool) -> Reach | None:
        """Return how freely the person may send to a chat; None if they have never been there."""
        theirs = await self._theirs(sessions)
        if is_origin or any(is_direct(one.lane) for one in theirs):
            return "own"
        return "asks" if theirs else None


def _place(
    name: str, target: Target, *, reach: Reach, sessions: Sequence[KnownSession]
) -> FoundTarget:
    lanes = tuple(session.lane for session in sessions[:_MIRRORS])
    return FoundTarget(name=name, reach=reach, target=target, sessions=lanes)


def _target(wanted: Destination) -> Target:
    return Target(
        platform=wanted.platform,
        account=account_of(wanted.platform) or _ACCOUNT,
        chat_id=wanted.chat_id,
        thread_id=wanted.thread_id,
    )


def _is_same(target: Target, origin: Target | None) -> bool:
    return origin is not None and (target.platform, target.chat_id, target.thread_id) == (
        origin.platform,
        origin.chat_id,
        origin.thread_id,
    )


_MOST_SHOWN = 8


def find_chat(entries: Iterable[ChatEntry], text: str) -> ChatEntry | None:
    """Return the one chat that is meant; None if there is none.

    Tries several ways of matching; the first with a result decides. Raises `BadRequest` if it
    matches several chats.
    """
    chats = tuple(entries)
    wanted = _folded(text)
    if not wanted:
        return None
    exact = [one for one in chats if one.chat_id == text]
    named = [one for one in chats if _folded(one.name) == wanted]
    in_guild = [one for one in chats if one.guild and _folded(_with_guild(one)) == wanted]
    begun = [
        one
        for one in chats
        if _folded(one.name).startswith(wanted)
        or (one.guild and "/" in wanted and _folded(_with_guild(one)).startswith(wanted))
    ]
    found = exact or named or in_guild or begun
    if len(found) > 1:
        raise BadRequest(
            f"{text[:80]!r} could be several chats: {shown_chats(found)}. Write guild/name, or the id."
        )
    return found[0] if found else None


def shown_chats(chats: Sequence[ChatEntry]) -> str:
    """Return chats as an error message lists them."""
    told = [f"{_with_guild(one)} ({one.platform}:{one.chat_id})" for one in chats[:_MOST_SHOWN]]
    more = len(chats) - len(told)
    return ", ".join((*told, f"and {more} more") if more > 0 else told)


def _with_guild(entry: ChatEntry) -> str:
    return f"{entry.guild}/{entry.name}" if entry.guild else entry.name


def _folded(name: str) -> str:
    """Return a name in the form in which names are compared, without a leading # or @."""
    guild, slash, own = name.strip().rpartition("/")
    return f"{guild.strip()}{slash}{own.strip().lstrip('#@')}".casefold()
