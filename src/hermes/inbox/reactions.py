"""Reads a reaction to a message of the bot: a thumb is feedback on an answer, or answers an approval.

Every other reaction is passed over without a trace: people react to much. One that comes before it is known
that its message was posted, as after a crash, is kept until then.
"""

from collections.abc import Awaitable, Callable

import msgspec

from hermes.config import ApprovalSettings
from hermes.errors import Forbidden, Skipped
from hermes.message.event import MessageEvent, Reaction
from hermes.message.parts import TextPart
from hermes.message.thumbs import Thumb, thumb_of
from hermes.people.access import Admission
from hermes.ports.clock import Clock
from hermes.ports.offers import PostedDelivery
from hermes.ports.store import Store
from hermes.tools.approvers import check_approver

# Reactions that may wait for their messages at once.
_MOST_EARLY = 1_000
_WORDS: dict[Thumb, str] = {"up": "/approve", "down": "/deny"}


class Reactions:
    """Knows which reactions mean something."""

    def __init__(
        self,
        store: Store,
        *,
        admission: Callable[[MessageEvent], Awaitable[Admission]],
        approvals: ApprovalSettings,
        clock: Clock,
    ) -> None:
        self._store = store
        self._admission = admission
        self._approvals = approvals
        self._clock = clock

    async def read(self, event: MessageEvent, reaction: Reaction) -> MessageEvent:
        """Return the message that a reaction is; raises `Skipped` if it means nothing."""
        thumb = thumb_of(reaction.emoji)
        if thumb is None:
            raise Skipped("a reaction that is no thumb means nothing")
        source = event.source
        posted = await self._store.offers.posted(
            source.platform, source.chat_id, reaction.message_id
        )
        if not (await self._admission(event)).is_in:
            raise Skipped("a reaction of somebody who is not let in means nothing")
        if posted is None:
            posted = await self._later(event, reaction)
        says = await self._decision(event, posted, thumb)
        if says is None and posted.purpose != "reply":
            raise Skipped("a reaction to what is no answer means nothing")
        parts = () if says is None or reaction.is_removed else (TextPart(says),)
        return msgspec.structs.replace(event, parts=parts, addressed=True)

    async def _later(self, event: MessageEvent, reaction: Reaction) -> PostedDelivery:
        """Keep a reaction that came before its message is known; return the message if it is by now."""
        offers, source = self._store.offers, event.source
        now = self._clock.now()
        kept = await offers.keep_reaction(event, reaction.message_id, at=now, most=_MOST_EARLY)
        if kept == "kept":
            raise Skipped("a reaction that came early is kept until its message is known")
        posted = await offers.posted(source.platform, source.chat_id, reaction.message_id)
        if posted is None:
            raise Skipped("a reaction to what is no message of mine means nothing")
        return posted

    async def _decision(
        self, event: MessageEvent, posted: PostedDelivery, thumb: Thumb
    ) -> str | None:
        """Return the command that a thumb stands for; None if it decides nothing."""
        if not self._approvals.reactions or posted.approval is None:
            return None
        asked = await self._store.approvals.get(posted.approval)
        if asked is None or asked.state != "waiting" or asked.expires_at <= self._clock.now():
            return None
        who = event.source.sender_name
        try:
            check_approver(asked, who, settings=self._approvals)
        except Forbidden as error:
            raise Skipped(f"a reaction decides nothing here: {error}") from error
        return f"{_WORDS[thumb]} {asked.id}"
