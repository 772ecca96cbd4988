"""How the stand-in Telegram delivers updates: to polls or to a webhook, until they are accepted."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from hermes.ports.clock import Clock
from hermes.testing.telegram.refusal import ApiError, bad

_PORTS: Final = frozenset({None, 443, 80, 88, 8443})
_SECRET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_KINDS: Final = frozenset(
    {"message", "edited_message", "channel_post", "edited_channel_post", "callback_query"}
    | {"my_chat_member"}
)
_MOST: Final = 100
_FIRST: Final = 900_000_001
_RETRY_S: Final = (0.02, 0.05, 0.1, 0.2, 0.5)
Sleep = Callable[[float], Awaitable[None]]


class PendingUpdate(msgspec.Struct, kw_only=True):
    """An update that is not accepted yet; `times` is how often it is still to be delivered."""

    update_id: int
    kind: str
    body: dict[str, Any]
    chat: int
    times: int
    taken: asyncio.Event

    @property
    def wire(self) -> dict[str, Any]:
        """The update as it is delivered."""
        return {"update_id": self.update_id, self.kind: self.body}


class Updates:
    """The queue of one bot."""

    def __init__(self, *, clock: Clock, sleep: Sleep = asyncio.sleep, is_local: bool) -> None:
        self._clock = clock
        self._sleep = sleep
        self._is_local = is_local
        self._waiting: dict[int, PendingUpdate] = {}
        self._next = _FIRST
        self._arrived = asyncio.Event()
        self._poll: asyncio.Event | None = None
        self._allowed: frozenset[str] = _KINDS
        self._tasks: set[asyncio.Task[None]] = set()
        self._chats: dict[int, asyncio.Lock] = {}
        self._session: aiohttp.ClientSession | None = None
        self._error: tuple[int, str] = (0, "")
        self.url = ""
        self.secret = ""
        self.pointed_at: str | None = None
        self.statuses: list[int] = []

    def push(self, kind: str, body: dict[str, Any], *, chat: int, times: int = 1) -> PendingUpdate:
        """Add an update; deliver it from now on."""
        update = self.happen(kind, body, chat=chat, times=times)
        self.tell(update)
        return update

    def happen(
        self, kind: str, body: dict[str, Any], *, chat: int, times: int = 1
    ) -> PendingUpdate:
        """Add an update that is delivered later."""
        self._next += 1
        return PendingUpdate(
            update_id=self._next - 1,
            kind=kind,
            body=body,
            chat=chat,
            times=times,
            taken=asyncio.Event(),
        )

    def tell(self, update: PendingUpdate) -> None:
        """Deliver it from now on; polls get updates by their number, even late ones."""
        if update.kind not in self._allowed:
            update.taken.set()
            return
        if not self.url and update.update_id + 1 < self._next:
            update.update_id, self._next = self._next, self._next + 1
        self._waiting[update.update_id] = update
        self._arrived.set()
        if self.url:
            self._start(update)

    async def get(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        """Answer a poll: confirm what is below the offset, then wait for more."""
        if self.url:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook "
                "to delete the webhook first",
                is_rule=False,
            )
        limit = params.get("limit", _MOST)
        if not 1 <= limit <= _MOST:
            raise bad("limit must be between 1 and 100")
        self._allow(params)
        if self._poll is not None:
            self._poll.set()
        gone = self._poll = asyncio.Event()
        try:
            self._confirm(params.get("offset"))
            return await self._wait(limit, params.get("timeout", 0), gone)
        finally:
            if self._poll is gone:
                self._poll = None

    def set_webhook(self, params: dict[str, Any]) -> bool:
        """Deliver to a webhook from now on."""
        url, secret = params["url"], params.get("secret_token", "")
        # An operator's address may have a proxy in front of it.
        if url and not self._is_local and url != self.pointed_at:
            _check_url(url)
        if not set(secret) <= _SECRET or len(secret) > 256:
            raise bad("secret token contains unallowed characters")
        self._allow(params)
        self.url, self.secret = url, secret
        if params.get("drop_pending_updates"):
            self._drop()
        if url:
            self._end_poll()
            for update in self._waiting.values():
                self._start(update)
        return True

    def delete_webhook(self, params: dict[str, Any]) -> bool:
        """Deliver to polls from now on."""
        self.url = self.secret = ""
        self._end_tasks()
        if params.get("drop_pending_updates"):
            self._drop()
        return True

    @property
    def info(self) -> dict[str, Any]:
        """The state of the webhook."""
        info: dict[str, Any] = {
            "url": self.url,
            "has_custom_certificate": False,
            "pending_update_count": len(self._waiting),
        }
        if self._error[0]:
            info |= {"last_error_date": self._error[0], "last_error_message": self._error[1]}
        return info

    def wake(self) -> None:
        """Wake every poll, so that it sees the invalid token."""
        self._arrived.set()
        self._end_poll()

    async def close(self) -> None:
        """End everything under way."""
        self._end_poll()
        self._end_tasks()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _allow(self, params: dict[str, Any]) -> None:
        if "allowed_updates" in params:
            self._allowed = frozenset(params["allowed_updates"]) or _KINDS

    def _confirm(self, offset: int | None) -> None:
        for update in [one for one in self._waiting.values() if one.update_id < (offset or 0)]:
            update.times -= 1
            if update.times <= 0:
                del self._waiting[update.update_id]
                update.taken.set()

    async def _wait(self, limit: int, timeout_s: int, gone: asyncio.Event) -> list[dict[str, Any]]:
        try:
            async with asyncio.timeout(timeout_s):
                while not self._waiting:
                    self._arrived.clear()
                    ended = asyncio.create_task(gone.wait())
                    arrived = asyncio.create_task(self._arrived.wait())
                    try:
                        await asyncio.wait({ended, arrived}, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        ended.cancel()
                        arrived.cancel()
                    if gone.is_set():
                        raise ApiError(
                            409,
                            "Conflict: terminated by other getUpdates request; make sure that only "
                            "one bot instance is running",
                            is_rule=False,
                        )
        except TimeoutError:
            return []
        return [one.wire for one in sorted(self._waiting.values(), key=lambda u: u.update_id)][
            :limit
        ]

    def _end_poll(self) -> None:
        if self._poll is not None:
            self._poll.set()

    def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _drop(self) -> None:
        for update in self._waiting.values():
            update.taken.set()
        self._waiting.clear()

    def _start(self, update: PendingUpdate) -> None:
        task = asyncio.create_task(self._tell(update), name=f"webhook {update.update_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, update: PendingUpdate) -> None:
        """Call the webhook until it has accepted the update; a chat's updates one after the
        other.
        """
        body = msgspec.json.encode(update.wire)
        async with self._chats.setdefault(update.chat, asyncio.Lock()):
            tries = 0
            while update.times > 0:
                status = await self.call(body)
                if 200 <= status < 300:
                    update.times -= 1
                    continue
                wait_s = _RETRY_S[min(tries, len(_RETRY_S) - 1)]
                self._error = (int(self._clock.now()), f"Wrong response from the webhook: {status}")
                tries += 1
                await self._sleep(wait_s)
        self._waiting.pop(update.update_id, None)
        update.taken.set()

    async def call(self, body: bytes, *, secret: str | None = None) -> int:
        """Call the webhook once; return the status, 0 if there was no answer."""
        if self._session is None:
            self._session = aiohttp.ClientSession()
        shown = self.secret if secret is None else secret
        headers = {"Content-Type": "application/json"}
        if shown:
            headers["X-Telegram-Bot-Api-Secret-Token"] = shown
        try:
            async with self._session.post(
                self.pointed_at or self.url,
                data=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=60),
            ) as answer:
                await answer.read()
                self.statuses.append(answer.status)
                return answer.status
        except (aiohttp.ClientError, TimeoutError, OSError):
            return 0


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise bad("bad webhook: An HTTPS URL must be provided for webhook")
    if parts.port not in _PORTS:
        raise bad("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
    host = parts.hostname or ""
    try:
        is_inside = not ipaddress.ip_address(host).is_global
    except ValueError:
        is_inside = host == "localhost"
    if is_inside:
        raise bad(f"bad webhook: IP address {host} is reserved")
