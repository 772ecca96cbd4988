"""Says a script's messages to whatever gateway is up, again until each is accepted or refused.

It keeps what the gateway promised: the id of every message that it answered with 2xx, and every
reply that it gave. The books are checked against these.
"""

import asyncio

import aiohttp
import msgspec

from hermes.ops.instance import GatewayAddress
from hermes.ports.clock import SystemClock
from hermes.testing.push.webhooks import InboundMessage, event_body, sign
from tests.torture.homes import SIGNING_SECRET, Home
from tests.torture.places import Place
from tests.torture.polling import PATIENCE, pause
from tests.torture.workload import Conversation, Order, Said

TRY_S = 20.0 * PATIENCE
TALK_S = 90.0 * PATIENCE


class Promise(msgspec.Struct, kw_only=True):
    """What the gateway said about one message: its id, and the replies it gave for it.

    A platform only says that it was taken: `external_id` is what it is called there.
    """

    said: Said
    message_id: str | None = None
    external_id: str | None = None
    replies: list[tuple[str, str]] = []
    refusals: int = 0


class Driver:
    """The people of one story."""

    def __init__(self, home: Home, place: Place, *, session: aiohttp.ClientSession) -> None:
        self._home = home
        self._place = place
        self._session = session
        self._clock = SystemClock()
        self._stamp = 0
        self.promises: dict[str, Promise] = {}
        self.order: dict[str, list[str]] = {}
        self.findings: list[str] = []
        self.tries = 0

    async def talk(self, conversation: Conversation) -> None:
        """Say one conversation, each message after the one before it was accepted."""
        async with asyncio.timeout(TALK_S):
            for said in conversation:
                if isinstance(said, Order):
                    await self.order_done(said)
                    continue
                for fault in said.faults:
                    self._place.plan(fault, chat=said.chat)
                for _ in range(1 if self._is_there(said) else said.copies):
                    await self.say(said)

    async def say(self, said: Said) -> None:
        """Say one message until it is accepted, or refused as it should be."""
        if said.clashes:
            while not await self._try(said, Promise(said=said)):
                await pause()
            return
        promise = self.promises.setdefault(said.id, Promise(said=said))
        if self._is_there(said):
            await self._say_there(said, promise)
            return
        while not await self._try(said, promise):
            await pause()

    def _is_there(self, said: Said) -> bool:
        """Tell whether the platform itself brings a message to the gateway, as often as it takes."""
        return said.way == "webhook" and bool(self._home.mode.place)

    async def _say_there(self, said: Said, promise: Promise) -> None:
        self.tries += 1
        promise.external_id = await self._place.say(said)
        self.order.setdefault(said.chat, []).append(said.id)

    async def order_done(self, order: Order) -> None:
        """Give an operator's order until it is carried out, or there is nothing to do."""
        while not await self._ask(f"/control/credits/{order.path}", order.body):
            await pause()

    async def audit(self) -> object:
        """Return what `hermes credits audit` says of the gateway that runs."""
        while (told := await self._ask("/control/credits/audit")) is None:
            await pause()
        return told

    async def _ask(self, path: str, body: object = None) -> object | None:
        """Ask as the command line does; None when it has to be asked again."""
        address = self._home.address()
        if address is None:
            return None
        try:
            async with self._session.request(
                "GET" if body is None else "POST",
                f"{address.url}{path}",
                data=None if body is None else msgspec.json.encode(body),
                headers={
                    "Authorization": f"Bearer {address.token}",
                    "Content-Type": "application/json",
                },
                timeout=_limit(),
            ) as answer:
                content = msgspec.json.decode(await answer.read())
        except (aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError):
            return None
        # A message that was not paid for has nothing to give back.
        fine = {200, 404} if path.endswith("/refund") else {200}
        again = answer.status == 401 or answer.status >= 500
        assert again or answer.status in fine, f"{path}: {answer.status} {content}"
        return None if again else content

    async def _try(self, said: Said, promise: Promise) -> bool:
        address = self._home.address()
        if address is None:
            return False
        self.tries += 1
        try:
            if said.way == "webhook":
                return await self._webhook(said, promise, address=address)
            return await self._rest(said, promise, address=address)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    async def _webhook(self, said: Said, promise: Promise, *, address: GatewayAddress) -> bool:
        message = InboundMessage(chat=said.chat, user=said.chat, text=said.text, event_id=said.id)
        body = event_body(message, sent_at=1.0)
        self._stamp = max(round(self._clock.now() * 1000), self._stamp + 1)
        stamp = str(self._stamp)
        headers = {
            "Content-Type": "application/json",
            "X-Pigeon-Timestamp": stamp,
            "X-Pigeon-Signature": sign(SIGNING_SECRET, stamp, body=body),
        }
        url = f"{address.url}/webhooks/pigeon"
        async with self._session.post(url, data=body, headers=headers, timeout=_limit()) as answer:
            return self._judge(said, promise, answer.status, body=await answer.read())

    async def _rest(self, said: Said, promise: Promise, *, address: GatewayAddress) -> bool:
        body: dict[str, str | bool] = {
            "sender": said.user,
            "conversation": said.chat,
            "id": said.id,
            "text": said.text,
            "denies_approval": said.denies,
        }
        headers = {
            "Authorization": f"Bearer {address.token}",
            "Content-Type": "application/json",
            "Accept": "text/event-stream" if said.way == "events" else "application/json",
        }
        wait = "false" if said.way == "later" else "true"
        url = f"{address.url}/api/messages?wait={wait}"
        data = msgspec.json.encode(body)
        async with self._session.post(url, data=data, headers=headers, timeout=_limit()) as answer:
            if said.way == "events" and answer.status == 200:
                return await self._follow(said, promise, answer)
            return self._judge(said, promise, answer.status, body=await answer.read())

    async def _follow(self, said: Said, promise: Promise, answer: aiohttp.ClientResponse) -> bool:
        event = ""
        async for line in answer.content:
            if line.startswith(b"event: "):
                event = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                self._event(said, promise, event, data=line[6:])
        return event in {"done", "parked"}

    def _event(self, said: Said, promise: Promise, event: str, *, data: bytes) -> None:
        content = msgspec.json.decode(data)
        if event == "accepted":
            self._keep(said, promise, content["id"])
        elif event == "done":
            promise.replies.append((content["outcome"], content["reply"] or ""))
        elif event == "error":
            raise AssertionError(f"the events of {said.id} ended with {content}")

    def _judge(self, said: Said, promise: Promise, status: int, *, body: bytes) -> bool:
        """Take an answer; true when nothing more has to be sent."""
        if status >= 500 or status == 401:
            # A restarted gateway has a new local token, and its platform may not be connected.
            return False
        content = msgspec.json.decode(body)
        if said.clashes:
            assert status == 409, f"the id {said.id} was taken by another text, yet: {content}"
            promise.refusals += 1
            return True
        assert 200 <= status < 300, f"{said.id} was refused with {status}: {content}"
        self._keep(said, promise, content.get("message_id") or content["id"])
        if content.get("outcome") is not None:
            promise.replies.append((content["outcome"], content["reply"] or ""))
        return True

    def _keep(self, said: Said, promise: Promise, message_id: str) -> None:
        if promise.message_id is None:
            promise.message_id = message_id
            self.order.setdefault(said.chat, []).append(said.id)
        if promise.message_id != message_id:
            self.findings.append(
                f"{said.id} was accepted twice: as {promise.message_id} and as {message_id}"
            )

    @property
    def names(self) -> dict[str, str]:
        """The words of messages by what platforms call them."""
        return {
            promise.external_id: word
            for word, promise in self.promises.items()
            if promise.external_id is not None
        }


def _limit() -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=TRY_S)
