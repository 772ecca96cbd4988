"""The gateway API: the calls that channels with their own HTTP routes may make."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from hermes.agents.conversation import call_source
from hermes.agents.roster import Roster
from hermes.errors import HermesError, NotFound
from hermes.inbox.accept import Inbox
from hermes.memory.soul import contribution_of
from hermes.message.event import MessageEvent
from hermes.message.outcome import MessageState
from hermes.message.session_key import is_below
from hermes.message.source import Source
from hermes.outbox.traffic import Traffic
from hermes.pipeline.approval_waits import waiting_text
from hermes.pipeline.watch import WatchHub
from hermes.ports.channel import Acceptance
from hermes.ports.gateway_api import Caller, MessageStatus
from hermes.ports.session_history import ConversationPage
from hermes.ports.signals import Signals
from hermes.ports.store import Store
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress
from hermes.ports.work_files import SessionOwner
from hermes.server.auth import Access, operating, speaking
from hermes.sessions.keys import SessionKeys

_decode_asked = msgspec.json.Decoder(TurnResult).decode
_GOES_ON = frozenset({MessageState.NEW, MessageState.RUNNING})


class GatewayApiServer:
    """Fits `ports.gateway_api.GatewayApi`."""

    def __init__(
        self,
        store: Store,
        *,
        inbox: Inbox,
        watch: WatchHub,
        access: Access,
        roster: Roster,
        keys: SessionKeys,
        traffic: Traffic,
        zone: ZoneInfo,
        signals: Signals,
    ) -> None:
        self._store = store
        self._inbox = inbox
        self._watch = watch
        self._access = access
        self._roster = roster
        self._keys = keys
        self._traffic = traffic
        self._zone = zone
        self._signals = signals

    async def accept(self, event: MessageEvent) -> Acceptance:
        """Store a message; raise `Refused` or `TryLater` if nothing was stored."""
        accepted = await self._inbox.accept(event)
        self._traffic.asked(event.source.platform, accepted.message_id)
        return accepted

    async def refuse(
        self, platform: str, error: HermesError, *, external_id: str | None = None
    ) -> str | None:
        """Record the refusal of an authenticated caller, best-effort; return the id that `hermes
        why` explains, or None if it could not be recorded.
        """
        return await self._inbox.refuse(platform, error, external_id=external_id)

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Return who may send messages; raise `Unauthenticated`, or `Forbidden` for viewers."""
        return speaking(await self._access.authenticate(headers))

    async def recognise(self, headers: Mapping[str, str]) -> Caller:
        """Return which operator shows a bearer token or a session cookie; raise `Unauthenticated`."""
        return operating(await self._access.authenticate(headers))

    async def signed_in(self, headers: Mapping[str, str]) -> Caller:
        """Return whoever shows a bearer token or a session cookie, also a person of the web chat."""
        return await self._access.authenticate(headers)

    async def message(self, message_id: str) -> MessageStatus | None:
        """Return one message and its result."""
        record = await self._store.inbox.get(message_id)
        if record is None:
            return None
        ended = record.state is MessageState.DONE
        if ended:
            self._traffic.taken(record.id)
        result_of = record.merged_into or record.id
        return MessageStatus(record, await self._store.inbox.result(result_of) if ended else None)

    async def watch(self, message_id: str) -> AsyncIterator[Progress]:
        """Yield a snapshot of a message, then every update until it is done or parked."""
        async with aclosing(self._watch.subscribe(message_id)) as updates:
            async for progress in updates:
                if progress.kind == "snapshot":
                    end = await self._ended(message_id)
                    yield end or progress
                    if end is not None:
                        return
                    waits = await self._waits_behind(message_id)
                    if waits is not None:
                        yield waits
                    continue
                if progress.kind == "done":
                    self._traffic.taken(message_id)
                yield progress

    async def end(self, message_id: str, *, is_new: bool = False) -> Progress:
        """Wait until a message is done or its turn asks a question; `stopping` is neither."""
        look = None if is_new else partial(self._ended, message_id)
        end = await self._watch.end(message_id, look=look)
        if end.kind == "done":
            self._traffic.taken(message_id)
        return end

    async def question(self, message_id: str) -> Progress | None:
        """Return what the turn of a message asks and waits for; None if it asks nothing."""
        asked = self._watch.question(message_id)
        if asked is not None or await self._store.inbox.state(message_id) != MessageState.PARKED:
            return asked
        return await self._ended(message_id)

    async def stop(self, message_id: str, *, by: str) -> bool:
        """Let a message end that has not ended, also one that waits; false if it had ended."""
        stopped = await self._store.turns.interrupt(message_id, by=by)
        for lane, one in stopped:
            self._signals.stopped(lane, by=by, message_id=one)
        return bool(stopped)

    async def _ended(self, message_id: str) -> Progress | None:
        """Return the result of a message about which no more updates will come."""
        if await self._store.inbox.state(message_id) in _GOES_ON:
            return None
        status = await self.message(message_id)
        if status is None:
            return None
        if status.record.state is MessageState.PARKED:
            waiting = await self._store.approvals.waiting(status.record.lane)
            if waiting is None:
                return None
            return await self._parked(waiting.id)
        if status.record.state is not MessageState.DONE:
            return None
        return Progress(kind="done", outcome=status.record.outcome, result=status.result)

    async def _waits_behind(self, message_id: str) -> Progress | None:
        """Return what a message waits for: an approval before it, or one of its subagents."""
        if await self._store.inbox.state(message_id) not in _GOES_ON:
            return None
        status = await self.message(message_id)
        if status is None:
            return None
        lane = status.record.lane
        if status.record.state is MessageState.NEW:
            waiting = await self._store.approvals.waiting(lane)
            text = "" if waiting is None else waiting_text(waiting, zone=self._zone)
        else:
            text = await self._asked_below(lane)
        return Progress(kind="status", text=text) if text else None

    async def _asked_below(self, lane: str) -> str:
        """Return what a subagent of a running turn asks; empty if none waits for an approval."""
        for one in await self._store.approvals.waiting_around(lane):
            if is_below(one.lane, ancestor=lane) and one.id.startswith("a_"):
                return (await self._parked(one.id)).text
        return ""

    async def _parked(self, approval_id: str) -> Progress:
        """Return what a turn asked that waits for an approval."""
        kept = await self._store.approvals.question(approval_id)
        asked = TurnResult(text="", approval=approval_id) if kept is None else _decode_asked(kept)
        return Progress(kind="parked", text=asked.text, result=asked)

    async def call_source(
        self, agent: str, *, platform: str, caller: str, context_id: str | None = None
    ) -> Source:
        """Return the source of a call of an agent, which decides its conversation."""
        called = await self._roster.get(agent)
        return call_source(called, platform=platform, caller=caller, context_id=context_id)

    async def conversation(
        self,
        platform: str,
        chat_id: str,
        *,
        limit: int,
        user_id: str = "",
        before: str | None = None,
        agent: str | None = None,
    ) -> ConversationPage:
        """Return the newest messages of a conversation over all its epochs, oldest first."""
        source = Source(platform=platform, chat_id=chat_id, user_id=user_id)
        person_id = (await self._store.users.channel_access(platform, user_id)).person_id
        chosen = await self._roster.get(agent) if agent else None
        named = chosen or self._roster.for_source(source, person_id=person_id)
        lane = await self._keys.lane(source, named.key)
        # Show no messages if nobody has written yet or the writer was erased.
        page = await self._store.transcripts.conversation(
            lane, limit=limit, person_id=person_id or "", before=before
        )
        soul = await self._store.souls.get(lane, page.epoch)
        if soul is None or soul.person_id != person_id:
            return page
        found = tuple(filter(None, map(contribution_of, soul.blocks)))
        return msgspec.structs.replace(page, contributions=found)

    async def session_owner(self, source: Source, *, agent: str | None = None) -> SessionOwner:
        """Return whose session a message from a source would join."""
        access = await self._store.users.channel_access(source.platform, source.user_id)
        if access.person_id is None:
            raise NotFound(
                f"Nobody has written as {source.user_id[:80]!r} yet: send a message first."
            )
        roster = self._roster
        chosen = await roster.get(agent) if agent else None
        named = chosen or roster.for_source(source, person_id=access.person_id)
        lane = await self._keys.lane(source, named.key)
        folder = named.settings.adapter.folder
        return SessionOwner(person_id=access.person_id, lane=lane, folder=folder)

    async def conversations(
        self, platform: str, *, limit: int, user_id: str | None = None
    ) -> tuple[dict[str, Any], ...]:
        """Return the platform's conversations, most recently used first."""
        if user_id is None:
            return await self._store.transcripts.sessions(platform=platform, limit=limit)
        person_id = (await self._store.users.channel_access(platform, user_id)).person_id
        if person_id is None:
            return ()
        return await self._store.transcripts.sessions_of(
            platform, user_id, person_id=person_id, limit=limit
        )
