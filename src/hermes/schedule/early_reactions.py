"""Hands on reactions that came before their messages were known to be posted, once they are.

They are in the store until then. Killed between handing one on and forgetting it, the next round hands it
on again, and the inbox knows it.
"""

from hermes.errors import Refused, StoreRejected, TryLater
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept
from hermes.ports.clock import Clock
from hermes.ports.offers import OfferStore
from hermes.schedule.rounds import Rounds

_EVERY_S = 5.0
_KEPT_S = 86_400.0
_AT_ONCE = 100


class EarlyReactions:
    """One task; `accept` is that of the inbox."""

    def __init__(
        self, offers: OfferStore, *, accept: Accept, clock: Clock, every_s: float = _EVERY_S
    ) -> None:
        self._offers = offers
        self._accept = accept
        self._clock = clock
        self._rounds = Rounds("early_reactions", self.round, every_s=every_s)

    def start(self) -> None:
        """Start the rounds."""
        self._rounds.start()

    async def stop(self) -> None:
        """Stop the rounds."""
        await self._rounds.stop()

    async def round(self) -> None:
        """Hand on what can be, and forget what is too old; stop while the inbox takes nothing."""
        while True:
            found = await self._offers.early_reactions(limit=_AT_ONCE)
            done: list[str] = []
            try:
                for name, event in found:
                    if event is not None:
                        await self._hand_on(event)
                    done.append(name)
            except TryLater:
                found = ()
            await self._offers.drop_reactions(done, before=self._clock.now() - _KEPT_S)
            if len(found) < _AT_ONCE:
                return

    async def _hand_on(self, event: MessageEvent) -> None:
        try:
            await self._accept(event)
        except (Refused, StoreRejected):
            # It would be refused the next time, too.
            return
