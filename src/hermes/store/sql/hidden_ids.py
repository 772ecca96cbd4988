"""Takes the platforms' ids of an erased person out of the rows that stay.

On WhatsApp and by SMS the id of a direct chat is a telephone number, and it is part of the names of sessions
and conversations. The rows stay, for sums and for `hermes graph verify`; in the place of the ids they
get keyed hashes. Whoever has the number next begins with sessions of their own. A session that is at work
keeps its name until it has ended.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from hermes.message.channel_name import platform_of
from hermes.message.session_key import (
    HIDDEN,
    HIDDEN_DIGITS,
    SessionKey,
    base_lane,
    escape,
    is_direct,
    is_hidden_id,
    names_nobody,
    read_session_key,
    root_lane,
)
from hermes.ports.channel import Target
from hermes.store.sql.engine import encode
from hermes.store.sql.graph_rows import GraphRows
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Row, Tx

_SQL = load("hidden_ids")
# A shorter id may be part of any other text; such an id says nothing without its platform.
_SHORTEST_ALONE = 5
_COLONS = 4
_MOST_NAMES = 20
# A thread may be one of a direct chat.
_NO_GROUPS = frozenset({"dm", "thread"})
_decode_target = msgspec.json.Decoder(Target).decode
_unpack = msgspec.msgpack.Decoder().decode
_pack = msgspec.msgpack.Encoder().encode
# How many sessions are renamed in one transaction: programs have very many of a person.
_AT_ONCE = 200
HidingState = Literal["done", "busy", "more"]
Pairs = Sequence[tuple[str, str]]


def hidden_id(sealer: Sealer, kind: str, *parts: str) -> str:
    """Return what stands for an id of an erased person."""
    digest = sealer.digest("\0".join(("hermes.hidden", kind, *parts)).encode("utf-8", "replace"))
    return HIDDEN + digest.hex()[:HIDDEN_DIGITS]


async def hide_person(tx: Tx, person_id: str, *, sealer: Sealer, at: float) -> HidingState:
    """Hide an erased person in the rows that stay; return whether there are more, or some still at work.

    Called inside the transaction of the erasure, while their ids are still known, and again later.
    """
    hiding = _Hiding(tx, person_id, sealer=sealer, at=at)
    return await hiding.hide()


def names_somebody(lane: str) -> bool:
    """Return whether a session belongs to one person, whose ids may be in its name."""
    root = root_lane(base_lane(lane))
    if not _is_session(root) or names_nobody(root):
        return False
    return is_direct(root) or read_session_key(root).user is not None


def _is_session(lane: str) -> bool:
    """Return whether a lane has the name of a session, as all have but those of a damaged database."""
    return lane.startswith("agent:") and lane.count(":") >= _COLONS


class _Session(msgspec.Struct, frozen=True):
    """A session of the person, its name afterwards, and its chat if nobody else is in it."""

    lane: str
    hidden: str
    platform: str
    chat: str = ""
    hidden_chat: str = ""


def _place(session: _Session) -> tuple[str, str]:
    return platform_of(session.platform), session.chat


class _Hiding:
    """The work of one transaction."""

    def __init__(self, tx: Tx, person_id: str, *, sealer: Sealer, at: float) -> None:
        self._tx = tx
        self._person_id = person_id
        self._sealer = sealer
        self._at = at

    async def hide(self) -> HidingState:
        rows = await self._tx.rows(_SQL["lanes"], self._person_id)
        users = {(row[0], row[1]) for row in await self._tx.rows(_SQL["channels"], self._person_id)}
        lanes = sorted({root_lane(base_lane(str(row[0]))) for row in rows})
        keys = {
            lane: read_session_key(lane)
            for lane in lanes
            if _is_session(lane) and not names_nobody(lane)
        }
        mine = {lane for lane in keys if await self._owner(lane) in (None, self._person_id)}
        sessions = list(self._own_sessions(keys, users, mine=mine))
        # After the erasure itself nothing else says under which ids they were known.
        known = users or {_place(one) for one in sessions[:_MOST_NAMES] if one.chat}
        self._hide_names(self._pairs(known), known)
        hidden, is_busy = [], False
        for one in sessions:
            own = users | ({_place(one)} if one.chat else set())
            if await self._hide_session(one, self._pairs(own)):
                hidden.append(one)
            else:
                is_busy = True
            if len(hidden) == _AT_ONCE:
                break
        await self._hide_others(
            {(one.platform, one.chat): one.hidden_chat for one in hidden if one.chat}
        )
        if len(hidden) == _AT_ONCE:
            return "more"
        return "busy" if is_busy else "done"

    def _own_sessions(
        self, keys: Mapping[str, SessionKey], users: set[tuple[str, str]], *, mine: set[str]
    ) -> Iterator[_Session]:
        """Yield the sessions that name the person: their direct chats, and their own in groups."""
        direct = {(keys[one].platform, keys[one].chat_id) for one in mine if is_direct(one)}
        for lane, key in keys.items():
            place = (key.platform, key.chat_id)
            is_own = place in direct or (platform_of(key.platform), key.chat_id) in users
            is_alone = key.chat_type in _NO_GROUPS
            if is_alone and (is_own or lane not in mine):
                chat = hidden_id(self._sealer, "chat", self._person_id, *place)
                user = None if key.user is None else chat
                hidden = str(msgspec.structs.replace(key, chat_id=chat, user=user))
                # In somebody else's session they have only used a command.
                yield _Session(lane, hidden, *(place if lane in mine else (key.platform, "")), chat)
            elif key.user is not None:
                user = hidden_id(self._sealer, "user", self._person_id, key.platform, key.user)
                hidden = str(msgspec.structs.replace(key, user=user))
                yield _Session(lane, hidden, key.platform)

    def _pairs(self, users: set[tuple[str, str]]) -> Pairs:
        """Return what names the person in texts, and what takes its place; longer texts first."""
        found: dict[str, str] = {}
        for platform, user_id in users:
            hidden = hidden_id(self._sealer, "user", self._person_id, platform, user_id)
            found[f"{platform}:{user_id}"] = f"{platform}:{hidden}"
            if len(user_id) >= _SHORTEST_ALONE:
                found[user_id] = found[escape(user_id)] = hidden
        return sorted(found.items(), key=lambda pair: -len(pair[0]))

    def _hide_names(self, pairs: Pairs, users: set[tuple[str, str]]) -> None:
        for name, hidden in pairs:
            for query in ("hide_requester", "hide_decider", "hide_asked", "hide_user_of_code"):
                self._tx.put(_SQL[query], name, hidden)
            if len(name) >= _SHORTEST_ALONE:
                self._tx.put(_SQL["drop_refusals"], name)
        for platform, user_id in users:
            self._tx.put(_SQL["drop_wrong_codes"], platform, user_id)

    async def _hide_session(self, session: _Session, pairs: Pairs) -> bool:
        """Rename one session and all that it started; False if it is still at work."""
        tx, lane, place = self._tx, session.lane, (session.platform, session.chat)
        if session.chat:
            tx.put(_SQL["end_replies"], *place, self._person_id, self._at)
        if await tx.one(_SQL["is_busy"], lane, *place, self._person_id):
            return False
        heir = await self._heir(lane)
        await self._rename(session, heir=heir)
        pairs = ((lane, session.hidden), *pairs)
        if heir is None:
            await self._rename_graphs(session, pairs)
        for name, hidden in pairs:
            for query in ("hide_events", "hide_steps"):
                tx.put(_SQL[query], session.hidden, name, hidden)
        for delivery, target in await tx.rows(_SQL["deliveries"], session.hidden, *place):
            self._hide_delivery(delivery, target, session.hidden_chat)
        return True

    async def _heir(self, lane: str) -> str | None:
        """Return whose session it is, too: who owns it, or else who wrote in it last."""
        owner = await self._owner(lane)
        if owner not in (None, self._person_id):
            return owner
        row = await self._tx.row(_SQL["heir"], lane, self._person_id)
        return None if row is None else str(row[0])

    async def _owner(self, lane: str) -> str | None:
        row = await self._tx.row(_SQL["owner"], lane)
        return None if row is None else str(row[0])

    async def _rename(self, session: _Session, *, heir: str | None) -> None:
        """Give the rows of a session another name; if it is somebody else's, too, only those of the person."""
        tx, lane, hidden = self._tx, session.lane, session.hidden
        whose = "" if heir is None else self._person_id
        for message_id, external_id in await tx.rows(_SQL["messages"], lane, whose):
            name = (
                external_id
                if is_hidden_id(external_id)
                else hidden_external(self._sealer, external_id)
            )
            tx.put(_SQL["hide_message"], message_id, lane, hidden, name)
        for query in ("hide_offers", "hide_approvals"):
            tx.put(_SQL[query], hidden, lane)
        if heir is not None:
            tx.put(_SQL["inherit"], lane, heir, self._person_id)
            return
        tx.put(_SQL["hide_lanes"], lane, hidden, session.hidden_chat)
        tx.put(_SQL["hide_writers"], lane, hidden)
        tx.put(_SQL["drop_souls"], lane)

    async def _rename_graphs(self, session: _Session, pairs: Pairs) -> None:
        for number, name in await self._tx.rows(_SQL["graphs"], session.lane):
            new = session.hidden + str(name).removeprefix(session.lane)
            graph = _GraphName(self._tx, int(number), sealer=self._sealer, pairs=pairs)
            await graph.change(str(name), new)
            self._tx.put(_SQL["name_graph"], number, new)

    async def _hide_others(self, chats: Mapping[tuple[str, str], str]) -> None:
        """Hide what was sent to these chats from elsewhere: from groups, by jobs, by operators."""
        for delivery, platform, chat, target in await self._tx.rows(
            _SQL["deliveries_of"], self._person_id
        ):
            if (platform, chat) in chats:
                self._hide_delivery(delivery, target, chats[platform, chat])

    def _hide_delivery(self, delivery: str, target: str, chat: str) -> None:
        new = msgspec.structs.replace(_decode_target(target), chat_id=chat, reply_to=None)
        self._tx.put(_SQL["hide_delivery"], delivery, chat, encode(new).decode())
        self._tx.put(_SQL["drop_parts"], delivery)
        self._tx.put(_SQL["drop_more"], delivery)


class _GraphName:
    """Gives the rows of one graph another name: their digests cover it, and links name their children.

    A row that was damaged stays so: what its digest does not prove is left as it is.
    """

    def __init__(self, tx: Tx, number: int, *, sealer: Sealer, pairs: Pairs) -> None:
        self._tx = tx
        self._number = number
        self._sealer = sealer
        self._pairs = pairs

    async def change(self, old: str, new: str) -> None:
        before, after = GraphRows(old, self._sealer), GraphRows(new, self._sealer)

        def moved(kind: str, beside: Row, kept: bytes) -> bytes | None:
            return before.moved(kind, beside, kept, to=after, change=self._changed)

        for branch, number, data in await self._rows("moves"):
            self._set("set_move", branch, number, data=moved("version", (branch, number), data))
        for branch, number, *beside, data in await self._rows("calls"):
            where = (branch, number, *beside)
            self._set("set_call", branch, number, data=moved("call", where, data))
        for number, data in await self._rows("links"):
            self._set("set_link", number, data=moved("link", (number,), data))
        for number, *beside, data in await self._rows("thumbs"):
            self._set("set_thumb", number, data=moved("thumb", (number, *beside), data))

    async def _rows(self, query: str) -> list[Row]:
        return await self._tx.rows(_SQL[query], self._number)

    # Any: the key of a row.
    def _set(self, query: str, *key: Any, data: bytes | None) -> None:
        if data is not None:
            self._tx.put(_SQL[query], self._number, *key, data)

    def _changed(self, data: bytes) -> bytes:
        """Return a packed row without what names the person."""
        if not any(name.encode() in data for name, _ in self._pairs):
            return data
        return _pack(_replaced(_unpack(data), lambda text: _without(text, self._pairs)))


# Any: a packed row, as plain values.
def _replaced(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_replaced(one, change) for one in value]
    if isinstance(value, dict):
        return {_replaced(key, change): _replaced(one, change) for key, one in value.items()}
    return value


def _without(text: str, pairs: Pairs) -> str:
    for name, hidden in pairs:
        text = text.replace(name, hidden)
    return text


def hidden_external(sealer: Sealer, external_id: str) -> str:
    """Return what stands for a platform's id of an erased person's message: it is still known if told again."""
    return hidden_id(sealer, "message", external_id)
