"""The answers of /sync and /messages from the state of the stand-in homeserver. No sockets."""

from collections.abc import Mapping
from typing import Any

from hermes.testing.call_rules import SiteRefusal
from hermes.testing.matrix.rules import passes
from hermes.testing.matrix.state import BOT, Event, MatrixState, Room

_HEROES = 5


def read_token(text: str | None, server_state: MatrixState) -> int:
    """Return the position in the stream that a token names; refuse a token that is not ours."""
    if text is None:
        return 0
    number = text[1:]
    if text[:1] not in {"s", "t"} or not number.isdigit() or int(number) > server_state.position:
        raise SiteRefusal("M_UNKNOWN", "Invalid stream token")
    return int(number)


def sync_answer(
    server_state: MatrixState, since: int | None, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what is new since a position, as far as the filter allows."""
    start = since or 0
    room_filter = asked.get("room", {})
    answer: dict[str, Any] = {"next_batch": f"s{server_state.position}"}
    rooms: dict[str, dict[str, Any]] = {"join": {}, "invite": {}, "leave": {}}
    for room in server_state.rooms.values():
        if room.events[-1][0] <= start:
            continue
        membership = room.membership(BOT)
        if membership == "join":
            found = _joined(server_state, room, since=since, asked=room_filter)
            if found:
                rooms["join"][room.id] = found
        elif membership == "invite" and _changed_at(room) > start:
            rooms["invite"][room.id] = {"invite_state": {"events": _stripped(room)}}
        elif since is not None and membership in {"leave", "ban"} and _changed_at(room) > start:
            rooms["leave"][room.id] = {"timeline": {"events": []}}
    if any(rooms.values()):
        answer["rooms"] = {name: found for name, found in rooms.items() if found}
    direct = {"type": "m.direct", "content": server_state.direct}
    if server_state.direct_at > start and passes(direct, asked.get("account_data", {})):
        answer["account_data"] = {"events": [direct]}
    return answer


def is_empty(answer: Mapping[str, Any]) -> bool:
    """Return whether there is nothing to report."""
    return set(answer) == {"next_batch"}


def page_answer(
    server_state: MatrixState,
    room: Room,
    *,
    start: int,
    stop: int,
    limit: int,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a page of a room before a position, newest first."""
    older = [(at, event) for at, event in room.events if stop < at <= start]
    fitting = [(at, event) for at, event in older if passes(event, asked)][::-1]
    chunk = fitting[:limit]
    answer: dict[str, Any] = {"chunk": [event for _, event in chunk], "start": f"t{start}"}
    if len(fitting) > len(chunk):
        answer["end"] = f"t{chunk[-1][0] - 1}"
    if asked.get("lazy_load_members"):
        answer["state"] = _members(room, {event["sender"] for _, event in chunk})
    return answer


def _joined(
    server_state: MatrixState, room: Room, *, since: int | None, asked: Mapping[str, Any]
) -> dict[str, Any] | None:
    start = since or 0
    is_new = _joined_at(room) > start
    state_filter = asked.get("state", {})
    events, is_limited, before = server_state.timeline(
        room, 0 if is_new else start, asked["timeline"]
    )
    state = [
        event
        for event in room.state().values()
        # What the timeline shows is not told twice.
        if is_new
        and event not in events
        and event["type"] != "m.room.member"
        and passes(event, state_filter)
    ]
    senders = {event["sender"] for event in events}
    if passes({"type": "m.room.member"}, state_filter):
        state += _members(room, senders | ({BOT} if is_new else set()))
    if not events and not (is_new or state):
        return None
    summary = {}
    if is_new or any(at > start and event["type"] == "m.room.member" for at, event in room.events):
        summary = _summary(room)
    return {
        "timeline": {"events": events, "limited": is_limited, "prev_batch": f"t{before}"},
        "state": {"events": state},
        "summary": summary,
    }


def _summary(room: Room) -> dict[str, Any]:
    joined = [user for user in room.members if room.membership(user) == "join"]
    return {
        "m.joined_member_count": len(joined),
        "m.invited_member_count": 0,
        "m.heroes": [user for user in joined if user != BOT][:_HEROES],
    }


def _members(room: Room, users: set[str]) -> list[Event]:
    state = room.state()
    found = (state.get(("m.room.member", user)) for user in sorted(users))
    return [event for event in found if event is not None]


def _stripped(room: Room) -> list[Event]:
    keys = ("type", "sender", "state_key", "content")
    return [{key: event[key] for key in keys} for event in room.state().values()]


def _changed_at(room: Room) -> int:
    """Return when the bot's own membership last changed."""
    return max(
        (
            at
            for at, event in room.events
            if event["type"] == "m.room.member" and event["state_key"] == BOT
        ),
        default=0,
    )


def _joined_at(room: Room) -> int:
    """Return when the bot joined; a new name of its own does not count."""
    before = "leave"
    joined = 0
    for at, event in room.events:
        if event["type"] == "m.room.member" and event["state_key"] == BOT:
            now = event["content"]["membership"]
            joined = at if now == "join" != before else joined
            before = now
    return joined
