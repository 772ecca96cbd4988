"""What platforms say about chats: asked when it is first wanted, and remembered for a while.

Nobody waits long for it, and what a platform cannot say is not asked again and again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping

import msgspec
import structlog

from hermes.errors import DeliveryError
from hermes.ports.channel import Channel, ChatInfo, InformedChannel, Target
from hermes.ports.clock import Clock

log = structlog.get_logger(__name__)

_WAIT_S = 2.0
_CALL_S = 10.0
_GOOD_S = 3600.0
_UNKNOWN_S = 300.0
_MOST = 1_000
_AT_ONCE = 20
_Key = tuple[str, str, str | None]


class _Answer(msgspec.Struct, frozen=True):
    info: ChatInfo | None
    until: float


class ChatInfos:
    """What is known of the chats of the connected platforms."""

    def __init__(self, sending: Mapping[str, Channel], *, clock: Clock) -> None:
        self._sending = sending
        self._clock = clock
        self._known: OrderedDict[_Key, _Answer] = OrderedDict()
        self._asking: dict[_Key, asyncio.Task[None]] = {}

    async def get(self, target: Target) -> ChatInfo | None:
        """Return what a platform says of a chat; None if it cannot, or not soon enough."""
        key = (target.platform, target.chat_id, target.thread_id)
        if not self._is_fresh(key):
            task = self._ask(key, target)
            if task is not None:
                await asyncio.wait({task}, timeout=_WAIT_S)
        answer = self._known.get(key)
        return None if answer is None else answer.info

    async def stop(self) -> None:
        """End the questions that are under way."""
        tasks = tuple(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_fresh(self, key: _Key) -> bool:
        answer = self._known.get(key)
        return answer is not None and self._clock.monotonic() < answer.until

    def _ask(self, key: _Key, target: Target) -> "asyncio.Task[None] | None":
        if key in self._asking:
            return self._asking[key]
        channel = self._sending.get(target.platform)
        if not isinstance(channel, InformedChannel) or len(self._asking) >= _AT_ONCE:
            return None
        task = asyncio.create_task(self._learn(channel, key, target), name="chat info")
        self._asking[key] = task
        task.add_done_callback(lambda _: self._asking.pop(key, None))
        return task

    async def _learn(self, channel: InformedChannel, key: _Key, target: Target) -> None:
        info: ChatInfo | None = None
        try:
            async with asyncio.timeout(_CALL_S):
                info = await channel.chat_info(target)
        except (DeliveryError, TimeoutError) as error:
            log.info("chat_info_unknown", platform=target.platform, problem=type(error).__name__)
        # Boundary: a fault inside a channel must not end what asks in passing.
        except Exception:
            log.exception("chat_info_fault", platform=target.platform)
        lasts = _UNKNOWN_S if info is None else _GOOD_S
        self._known[key] = _Answer(info, self._clock.monotonic() + lasts)
        self._known.move_to_end(key)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)


def shown_chat(info: ChatInfo) -> str:
    """Return a chat in a few words, for operators."""
    name = info.name or info.chat_id
    facts = [info.chat_type]
    if info.members is not None:
        facts.append(f"{info.members:,} member{'' if info.members == 1 else 's'}")
    return f"{name} ({', '.join(facts)})"
