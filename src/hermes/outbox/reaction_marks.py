"""Shows on a person's message how far it is, as reactions of the bot: seen, working, done.

Beside the path of the message: nothing waits for it and nothing of it is durable. Of a message only the
latest state is shown.
"""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from hermes.errors import DeliveryError
from hermes.message.event import MessageEvent
from hermes.outbox.channel_calls import ChannelCalls
from hermes.outbox.rates import Rates
from hermes.ports.channel import PushChannel, ReactingChannel, ReactionName, Target

log = structlog.get_logger(__name__)

_MOST_AT_ONCE = 200
_Key = tuple[str, str, str]


class ReactionMarks:
    """Puts the reactions on messages; `wanted` says on which platforms."""

    def __init__(
        self,
        sending: Mapping[str, PushChannel],
        *,
        rates: Rates,
        wanted: Callable[[str], bool],
        timeout_s: float,
    ) -> None:
        self._sending = sending
        self._rates = rates
        self._wanted = wanted
        self._timeout_s = timeout_s
        self._states: dict[_Key, ReactionName] = {}
        self._tasks: dict[_Key, asyncio.Task[None]] = {}

    def show(self, event: MessageEvent, name: ReactionName) -> None:
        """Show a state on a message that a person wrote, soon."""
        source = event.source
        key = (source.platform, source.chat_id, event.external_id)
        if not self._wanted(source.platform) or not _is_written(event):
            return
        channel = self._sending.get(source.platform)
        if channel is None or not channel.capabilities.reactions:
            return
        if not isinstance(channel, ReactingChannel):
            return
        is_new = key not in self._tasks
        if is_new and len(self._tasks) >= _MOST_AT_ONCE:
            return
        self._states[key] = name
        if is_new:
            target = Target(
                platform=source.platform,
                account=event.account,
                chat_id=source.chat_id,
                thread_id=source.thread_id,
                group=source.chat_type != "dm",
            )
            wire = ChannelCalls(channel, timeout_s=self._timeout_s)
            work = self._react(wire, target, key)
            task = asyncio.create_task(work, name=f"reaction:{source.platform}")
            self._tasks[key] = task
            task.add_done_callback(lambda _: self._forget(key))

    async def stop(self) -> None:
        """End the calls that are under way."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _react(self, wire: ChannelCalls, target: Target, key: _Key) -> None:
        shown: ReactionName | None = None
        while shown != self._states[key]:
            shown = self._states[key]
            if self._rates.of(wire.channel).is_held(target):
                return
            try:
                await wire.react(target, key[2], shown)
            except DeliveryError as error:
                log.info("reaction_not_shown", platform=wire.platform, failure=error.failure)
                return

    def _forget(self, key: _Key) -> None:
        self._tasks.pop(key, None)
        self._states.pop(key, None)


def _is_written(event: MessageEvent) -> bool:
    """Return whether a person wrote the message just now, so that the platform has it."""
    is_from_person = not event.internal and event.scheduled is None and event.delegation is None
    return is_from_person and event.pressed is None and event.reaction is None
