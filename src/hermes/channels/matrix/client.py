"""The calls of the client-server API that a bot needs, over the one client.

Used by the channel, which decides what the answers mean. The token is in a header, never in an
address.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from hermes.channels.matrix.outbound import (
    PLATFORM,
    Content,
    failure,
    is_revoked,
    read_object,
    refusal_of,
)
from hermes.channels.matrix.wire import Page, Sync, read_page, read_sync
from hermes.errors import (
    AnswerTooLarge,
    ConfigurationError,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
    TooLarge,
)
from hermes.net.client import HttpClient
from hermes.net.platform_call import PlatformAnswer, call

_CLIENT: Final = "/_matrix/client/v3"
SYNC_BYTES: Final = 64 << 20
# Parsing a larger answer may take seconds if it has to be repaired.
_LARGE_BYTES: Final = 262_144
# How much longer the homeserver may take than it was asked to hold the call.
_SYNC_GRACE_S: Final = 15.0
_LOOK_S: Final = 25.0
_REFUSAL_BYTES: Final = 16_384
_UPLOAD_S: Final = 60.0
_UNRECOGNIZED: Final = "M_UNRECOGNIZED"
_encode = msgspec.json.Encoder().encode

Read = TypeVar("Read")


class MatrixClient:
    """One account on one homeserver."""

    def __init__(
        self, http: HttpClient, homeserver: str, *, on_revoked: Callable[[bool], None]
    ) -> None:
        self._http = http
        self._base = homeserver
        self._on_revoked = on_revoked
        self.token = ""

    async def whoami(self) -> Mapping[str, Any]:
        """Return the owner of the token; raise `ConfigurationError` if it is not valid."""
        answer = await self._call("GET", f"{_CLIENT}/account/whoami")
        if answer.status == 401 or is_revoked(answer):
            raise ConfigurationError(
                "platforms.matrix.access_token: the homeserver does not accept it (any more); sign "
                "in as the bot and set a new one"
            )
        self._check_is_matrix(answer)
        return _object(answer)

    async def login(self, user: str, password: str, *, device_id: str | None) -> Mapping[str, Any]:
        """Sign in; reuse the previous device, since transaction ids belong to it."""
        body: Content = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": user},
            "password": password,
            "initial_device_display_name": "Hermes",
        }
        if device_id:
            body["device_id"] = device_id
        answer = await self._call("POST", f"{_CLIENT}/login", body=body)
        if answer.status in {400, 401, 403}:
            raise ConfigurationError(
                "platforms.matrix.user_id and password: the homeserver refused them "
                f"({answer.status} {refusal_of(answer).errcode[:40]}); check both, or set access_token"
            )
        self._check_is_matrix(answer)
        return _object(answer)

    async def sync(self, *, since: str | None, wait_s: float, asked: Mapping[str, Any]) -> Sync:
        """Return new events, waiting up to `wait_s` for them; `asked` is the filter."""
        query = {"filter": _encode(asked).decode(), "timeout": str(int(wait_s * 1000))}
        if since is not None:
            query["since"] = since
        answer = await self._call(
            "GET",
            f"{_CLIENT}/sync?{urlencode(query)}",
            timeout_s=max(wait_s + _SYNC_GRACE_S, _LOOK_S),
            limit=SYNC_BYTES,
        )
        return await _read(read_sync, _success(answer).body)

    async def messages(
        self, room_id: str, *, start: str | None, stop: str | None, asked: Mapping[str, Any]
    ) -> Page:
        """Return a page of events before `start`, newest first."""
        query = {"dir": "b", "limit": "100", "filter": _encode(asked).decode()}
        query |= {name: token for name, token in (("from", start), ("to", stop)) if token}
        path = f"{_CLIENT}/rooms/{_part(room_id)}/messages?{urlencode(query)}"
        answer = await self._call("GET", path, limit=SYNC_BYTES)
        return await _read(read_page, _success(answer).body)

    async def event(self, room_id: str, event_id: str) -> bytes:
        """Return one event."""
        path = f"{_CLIENT}/rooms/{_part(room_id)}/event/{_part(event_id)}"
        return _success(await self._call("GET", path)).body

    async def put_event(self, room_id: str, content: Content, *, txn: str) -> str:
        """Send a message and return its id; the same `txn` again is the same message."""
        path = f"{_CLIENT}/rooms/{_part(room_id)}/send/m.room.message/{_part(txn)}"
        answer = _success(await self._call("PUT", path, body=content))
        event_id = read_object(answer).get("event_id")
        if not isinstance(event_id, str) or not event_id:
            raise DeliveryUnknown(
                "matrix: the homeserver accepted a message but returned no event_id",
                FailureClass.SERVICE_UNAVAILABLE,
            )
        return event_id

    async def redact(self, room_id: str, event_id: str, *, txn: str) -> None:
        """Delete (redact) a message; a message that is gone is not an error."""
        path = f"{_CLIENT}/rooms/{_part(room_id)}/redact/{_part(event_id)}/{_part(txn)}"
        answer = await self._call("PUT", path, body={})
        if refusal_of(answer).errcode != "M_NOT_FOUND" or answer.is_ok:
            _success(answer)

    async def typing(self, room_id: str, user_id: str, *, for_s: float) -> None:
        """Show the typing indicator; 0 hides it."""
        path = f"{_CLIENT}/rooms/{_part(room_id)}/typing/{_part(user_id)}"
        body: Content = {"typing": for_s > 0}
        if for_s > 0:
            body["timeout"] = int(for_s * 1000)
        _success(await self._call("PUT", path, body=body))

    async def read_receipt(self, room_id: str, event_id: str) -> None:
        """Show that the bot has read up to here."""
        path = f"{_CLIENT}/rooms/{_part(room_id)}/receipt/m.read/{_part(event_id)}"
        _success(await self._call("POST", path, body={}))

    async def join(self, room_id: str) -> None:
        """Accept an invitation."""
        _success(await self._call("POST", f"{_CLIENT}/join/{_part(room_id)}", body={}))

    async def joined_rooms(self) -> tuple[str, ...]:
        """Return the rooms that the bot is in."""
        found = read_object(_success(await self._call("GET", f"{_CLIENT}/joined_rooms")))
        rooms = found.get("joined_rooms")
        return (
            tuple(room for room in rooms if isinstance(room, str))
            if isinstance(rooms, list)
            else ()
        )

    async def display_name(self, user_id: str) -> str:
        """Return an account's display name; empty if it has none."""
        answer = await self._call("GET", f"{_CLIENT}/profile/{_part(user_id)}/displayname")
        name = read_object(answer).get("displayname") if answer.is_ok else None
        return name if isinstance(name, str) else ""

    async def keep_direct(self, user_id: str, content: Content) -> None:
        """Store the account's list of direct chats."""
        path = f"{_CLIENT}/user/{_part(user_id)}/account_data/m.direct"
        _success(await self._call("PUT", path, body=content))

    async def upload(self, data: bytes, *, mime: str, name: str) -> str:
        """Upload bytes to the homeserver and return their address; nobody is notified."""
        path = f"/_matrix/media/v3/upload?{urlencode({'filename': name})}"
        try:
            answer = await self._call("POST", path, data=data, mime=mime, timeout_s=_UPLOAD_S)
            uri = read_object(_success(answer)).get("content_uri")
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
        where = f"download/{_part(server)}/{_part(media_id)}"
        answer = await self._fetch(f"/_matrix/client/v1/media/{where}", limit)
        if answer.status == 404 and refusal_of(answer).errcode == _UNRECOGNIZED:
            answer = await self._fetch(f"/_matrix/media/v3/{where}", limit)
        return _success(answer).body

    async def _fetch(self, path: str, limit: int) -> PlatformAnswer:
        too_large = f"matrix: an attachment has more than {limit} bytes"
        try:
            # A refusal has to be read, too, however small the limit is.
            room = max(limit, _REFUSAL_BYTES)
            answer = await self._call("GET", path, limit=room, timeout_s=_UPLOAD_S)
        except DeliveryUnknown as error:
            if isinstance(error.__cause__, AnswerTooLarge):
                raise TooLarge(too_large) from error
            raise
        if answer.is_ok and len(answer.body) > limit:
            raise TooLarge(too_large)
        return answer

    async def _call(
        self,
        method: str,
        path: str,
        *,
        body: Content | None = None,
        data: bytes | None = None,
        mime: str = "application/json",
        timeout_s: float | None = None,
        limit: int = 1 << 20,
    ) -> PlatformAnswer:
        sent = _encode(body) if body is not None else data
        token = self.token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if sent is not None:
            headers["Content-Type"] = mime
        answer = await call(
            self._http,
            method,
            f"{self._base}{path}",
            platform=PLATFORM,
            headers=headers,
            body=sent,
            timeout_s=timeout_s,
            limit=limit,
        )
        # A call from before the sign-in says nothing about the current credential.
        if token and token == self.token and is_revoked(answer):
            self._on_revoked(refusal_of(answer).soft_logout)
        return answer

    def _check_is_matrix(self, answer: PlatformAnswer) -> None:
        if answer.status in {301, 302, 307, 308, 404, 405} and not refusal_of(answer).errcode:
            raise ConfigurationError(
                f"platforms.matrix.homeserver: {self._base} answers {answer.status}, but not as a "
                "homeserver; set the address that its /.well-known/matrix/client names"
            )


def _part(text: str) -> str:
    return quote(text, safe="")


async def _read(reader: Callable[[bytes], Read], body: bytes) -> Read:
    """Return a parsed body; a large one is parsed in another thread."""
    return await asyncio.to_thread(reader, body) if len(body) > _LARGE_BYTES else reader(body)


def _success(answer: PlatformAnswer) -> PlatformAnswer:
    """Return a successful answer; raise the error for any other."""
    problem = failure(answer)
    if problem is not None:
        raise problem
    return answer


def _object(answer: PlatformAnswer) -> Mapping[str, Any]:
    return read_object(_success(answer))
