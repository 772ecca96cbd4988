"""The calls of the client-server API that a bot needs.

Used by the channel, which decides what the answers mean. The token is in a header, never in an
address.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from hermes.channel_kit.api import Api
from hermes.channel_kit.refusals import ApiAnswer, as_shape, field_of
from hermes.channels.matrix.wire import Page, Sync, read_page, read_sync
from hermes.errors import (
    ConfigurationError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.net.client import HttpClient
from hermes.ports.channel_rows import ChannelRows

PLATFORM: Final = "matrix"
_CLIENT: Final = "/_matrix/client/v3"
SYNC_BYTES: Final = 64 << 20
# Parsing a larger answer may take seconds if it has to be repaired.
_LARGE_BYTES: Final = 262_144
# How much longer the homeserver may take than it was asked to hold the call.
_SYNC_GRACE_S: Final = 15.0
_LOOK_S: Final = 25.0
_UPLOAD_S: Final = 60.0
_REVOKED: Final = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"})
# What an address that is no homeserver's answers.
_ELSEWHERE: Final = frozenset({301, 302, 307, 308, 404, 405})
_encode = msgspec.json.Encoder().encode

# Any: JSON of the API.
Content = dict[str, Any]
Read = TypeVar("Read")


class MatrixClient:
    """One account on one homeserver; `on_revoked` is told when its token is no longer valid."""

    def __init__(
        self,
        http: HttpClient,
        homeserver: str,
        *,
        rows: ChannelRows,
        make_id: Callable[[str], str],
        on_revoked: Callable[[bool], None],
    ) -> None:
        self._api = Api(http, platform=PLATFORM, base_url=homeserver, make_id=make_id, rows=rows)
        self._base = homeserver
        self._on_revoked = on_revoked
        self.token = ""

    async def whoami(self) -> Content:
        """Return the owner of the token; raise `ConfigurationError` if it is not valid."""
        said = await self.ask("GET", "account/whoami")
        if said.status == 401 or said.code in _REVOKED:
            raise ConfigurationError(
                "platforms.matrix.access_token: the homeserver does not accept it (any more); sign "
                "in as the bot and set a new one"
            )
        return self._signed_in(said)

    async def login(self, user: str, password: str, *, device_id: str | None) -> Content:
        """Sign in; reuse the previous device, since transaction ids belong to it."""
        body: Content = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": user},
            "password": password,
            "initial_device_display_name": "Hermes",
        }
        if device_id:
            body["device_id"] = device_id
        said = await self.ask("POST", "login", json=body)
        if said.status in {400, 401, 403}:
            raise ConfigurationError(
                "platforms.matrix.user_id and password: the homeserver refused them "
                f"({said.status} {said.code}); check both, or set access_token"
            )
        return self._signed_in(said)

    async def sync(self, *, since: str | None, wait_s: float, asked: Mapping[str, Any]) -> Sync:
        """Return new events, waiting up to `wait_s` for them; `asked` is the filter."""
        query = {"filter": _encode(asked).decode(), "timeout": str(int(wait_s * 1000))}
        if since is not None:
            query["since"] = since
        body = await self._bytes(
            "sync", query=query, timeout_s=max(wait_s + _SYNC_GRACE_S, _LOOK_S)
        )
        return await _read(read_sync, body)

    async def messages(
        self, room_id: str, *, start: str | None, stop: str | None, asked: Mapping[str, Any]
    ) -> Page:
        """Return a page of events before `start`, newest first."""
        query = {"dir": "b", "limit": "100", "filter": _encode(asked).decode()}
        query |= {name: token for name, token in (("from", start), ("to", stop)) if token}
        return await _read(read_page, await self._bytes(_room(room_id, "messages"), query=query))

    async def event(self, room_id: str, event_id: str) -> bytes:
        """Return one event."""
        return await self._bytes(_room(room_id, "event", event_id))

    async def put_event(
        self, room_id: str, content: Content, *, txn: str, kind: str = "m.room.message"
    ) -> str:
        """Send an event and return its id; the same `txn` again is the same event."""
        answer = await self.call("PUT", _room(room_id, "send", kind, txn), "send", json=content)
        event_id = answer.get("event_id")
        if not isinstance(event_id, str) or not event_id:
            raise DeliveryUnknown(
                "matrix: the homeserver accepted a message but returned no event_id",
                FailureClass.SERVICE_UNAVAILABLE,
            )
        return event_id

    async def redact(self, room_id: str, event_id: str, *, txn: str) -> None:
        """Delete (redact) an event; one that is gone is not an error."""
        said = await self.ask("PUT", _room(room_id, "redact", event_id, txn), json={})
        if said.code != "M_NOT_FOUND":
            self.success(said, "delete")

    async def typing(self, room_id: str, user_id: str, *, for_s: float) -> None:
        """Show the typing indicator; 0 hides it."""
        body: Content = {"typing": for_s > 0}
        if for_s > 0:
            body["timeout"] = int(for_s * 1000)
        await self.call("PUT", _room(room_id, "typing", user_id), "typing", json=body)

    async def read_receipt(self, room_id: str, event_id: str) -> None:
        """Show that the bot has read up to here."""
        await self.call("POST", _room(room_id, "receipt", "m.read", event_id), "receipt", json={})

    async def join(self, room_id: str) -> None:
        """Accept an invitation."""
        await self.call("POST", f"join/{_part(room_id)}", "join", json={})

    async def joined_rooms(self) -> tuple[str, ...]:
        """Return the rooms that the bot is in."""
        rooms = (await self.call("GET", "joined_rooms", "rooms")).get("joined_rooms")
        found = rooms if isinstance(rooms, list) else ()
        return tuple(room for room in found if isinstance(room, str))

    async def members(self, room_id: str) -> tuple[str, ...]:
        """Return who is in a room."""
        joined = (await self.call("GET", _room(room_id, "joined_members"), "members")).get("joined")
        return tuple(joined) if isinstance(joined, dict) else ()

    async def is_encrypted(self, room_id: str) -> bool:
        """Return whether a room is encrypted, as far as the bot may know it."""
        said = await self.ask("GET", _room(room_id, "state", "m.room.encryption"))
        if said.status >= 500 or said.status == 429:
            self.success(said, "room")
        return said.ok

    async def display_name(self, user_id: str) -> str:
        """Return an account's display name; empty if it has none."""
        said = await self.ask("GET", f"profile/{_part(user_id)}/displayname")
        name = field_of(said.found, "displayname") if said.ok else None
        return name if isinstance(name, str) else ""

    async def keep_direct(self, user_id: str, content: Content) -> None:
        """Store the account's list of direct chats."""
        path = f"user/{_part(user_id)}/account_data/m.direct"
        await self.call("PUT", path, "direct chats", json=content)

    async def upload(self, data: bytes, *, mime: str, name: str) -> str:
        """Upload bytes to the homeserver and return their address; nobody is notified."""
        try:
            answer = await self._api.raw(
                "POST",
                "/_matrix/media/v3/upload",
                body=data,
                mime=mime,
                query={"filename": name},
                headers=self._headers(),
            )
            uri = self.success(self._heard(self._api.read(answer)), "upload").get("content_uri")
        except DeliveryUnknown as error:
            # Unreferenced bytes do no harm: uploading them again is safe.
            raise NotDelivered(str(error), error.failure) from error
        if not isinstance(uri, str) or not uri.startswith("mxc://"):
            raise NotDelivered(
                "matrix: the homeserver accepted an attachment but returned no address",
                FailureClass.SERVICE_UNAVAILABLE,
            )
        return uri

    async def download(self, server: str, media_id: str, *, limit: int) -> bytes:
        """Return the bytes behind an mxc address, at most `limit`."""
        place = f"download/{_part(server)}/{_part(media_id)}"
        options: Content = {"limit": limit, "headers": self._headers(), "timeout_s": _UPLOAD_S}
        try:
            return (await self._api.download(f"/_matrix/client/v1/media/{place}", **options)).body
        except DeliveryRejected as error:
            if error.failure is not FailureClass.INVALID_RECIPIENT:
                raise
        # Older homeservers do not know the address above.
        return (await self._api.download(f"/_matrix/media/v3/{place}", **options)).body

    # Any: the options are those of `Api.ask`.
    async def call(self, method: str, path: str, name: str, **options: Any) -> Content:
        """Return the object of a successful call; raise the delivery error of any other."""
        return self.success(await self.ask(method, path, **options), name)

    async def ask(self, method: str, path: str, **options: Any) -> ApiAnswer:
        """Make a call and return its answer, also a refusal."""
        token = self.token
        said = await self._api.ask(method, f"{_CLIENT}/{path}", headers=self._headers(), **options)
        # A call from before the sign-in says nothing about the current credential.
        return self._heard(said) if token == self.token else said

    async def _bytes(
        self, path: str, *, query: Mapping[str, str] | None = None, timeout_s: float | None = None
    ) -> bytes:
        """Return the body of a successful answer, undecoded."""
        answer = await self._api.raw(
            "GET",
            f"{_CLIENT}/{path}",
            query=query,
            headers=self._headers(),
            timeout_s=timeout_s,
            limit=SYNC_BYTES,
        )
        if not answer.is_ok:
            self.success(self._heard(self._api.read(answer)), path.rpartition("/")[2])
        return answer.body

    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def _heard(self, said: ApiAnswer) -> ApiAnswer:
        """Return an answer; report the token's end if it says so."""
        if self.token and said.status in {401, 403} and said.code in _REVOKED:
            self._on_revoked(field_of(said.found, "soft_logout") is True)
        return said

    def success(self, said: ApiAnswer, name: str) -> Content:
        """Return the object of a successful answer; raise the delivery error of any other."""
        found = self._api.success(said, path=name)
        return as_shape(found, dict[str, Any], platform=PLATFORM, method=name)

    def _signed_in(self, said: ApiAnswer) -> Content:
        if said.status in _ELSEWHERE and not said.code:
            raise ConfigurationError(
                f"platforms.matrix.homeserver: {self._base} answers {said.status}, but not as a "
                "homeserver; set the address that its /.well-known/matrix/client names"
            )
        return self.success(said, "sign-in")


def _room(room_id: str, *rest: str) -> str:
    return "/".join(("rooms", *map(_part, (room_id, *rest))))


def _part(text: str) -> str:
    return quote(text, safe="")


async def _read(reader: Callable[[bytes], Read], body: bytes) -> Read:
    """Return a parsed body; a large one is parsed in another thread."""
    return await asyncio.to_thread(reader, body) if len(body) > _LARGE_BYTES else reader(body)
