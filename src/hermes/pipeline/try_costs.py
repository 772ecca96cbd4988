"""What the tries of one model call took, and who pays.

The platform pays for what nobody was shown, unless the request itself led to an answer without words.
"""

import msgspec

from hermes.calls.call_charge import SpendLog
from hermes.message.reply import Reply, Usage
from hermes.pipeline.accounts import account_of
from hermes.pipeline.needs import ModelJournal
from hermes.pipeline.turn import Turn
from hermes.ports.spend import SpendEntry
from hermes.ports.steps import PaidBy, Step


class TryCosts:
    """The costs of one call: every view of them (steps, ledger, result) is made from here."""

    def __init__(self, turn: Turn, journal: ModelJournal) -> None:
        self.receipt = SpendLog()
        self._turn = turn
        self._journal = journal
        self._paid = Usage()
        self._waived = Usage()

    async def end_failed(self, ordinal: int | None, *, payer: PaidBy) -> None:
        """End a try without an answer, and its step if it has one: it was not lost, and costs once."""
        if payer == "person":
            usage = self._spend(self.receipt.take())
            self._paid = self._paid.plus(usage)
        else:
            platform = account_of(self._turn, pays_platform=True)
            usage = self._spend(await self.receipt.waive(platform))
            self._waived = self._waived.plus(usage)
        if ordinal is not None:
            step = Step(ordinal=ordinal, kind="model", state="failed", usage=usage)
            self._journal.end(ordinal, None, step=step, payer=payer)

    def close(self) -> bool:
        """Book what is not booked yet to the person; return whether there was anything."""
        spent = self.receipt.take()
        self._paid = self._paid.plus(self._spend(spent))
        return bool(spent)

    def of_turn(self, turn: Turn) -> Turn:
        """Return the turn with what was booked so far."""
        return msgspec.structs.replace(
            turn,
            usage=turn.usage.plus(self._paid),
            platform_usage=turn.platform_usage.plus(self._waived),
        )

    def of_reply(self, reply: Reply) -> Reply:
        """Return the reply that ends the turn with what was booked so far."""
        return msgspec.structs.replace(reply, usage=self._paid, platform_usage=self._waived)

    def _spend(self, spent: tuple[SpendEntry, ...]) -> Usage:
        self._journal.spend(spent)
        usage = Usage()
        for entry in spent:
            usage = usage.plus(entry.usage)
        return usage
