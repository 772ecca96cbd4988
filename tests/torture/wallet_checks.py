"""Whether nobody paid for what they did not get, nor got what they could not pay for.

Each check yields a sentence for every line that does not fit; no sentence means balance.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hermes.message.referral_code import LETTERS
from hermes.pipeline.targets import reply_id
from hermes.testing.push.state import PostedMessage
from tests.stores import opening
from tests.torture.books import Books, Message
from tests.torture.denial_checks import is_notice

CUT_OFF = "(My answer was cut off here."
UPGRADE = re.compile(rf"Your referral code is [{LETTERS}]{{5}}-[{LETTERS}]{{5}}\.")


def audit(folder: Path) -> str | None:
    """Return what `hermes credits audit` would find in a home that no gateway runs on.

    "" is nothing; None says that a gateway died before there were any wallets.
    """
    found = opening.audit(folder, limit=9)
    if found is None:
        return None
    return "" if not found.wrong else f"credits audit: {found.differences}"


def money(books: Books, posted: tuple[PostedMessage, ...]) -> Iterator[str]:
    """One charge for what was given, none for what was not, and nothing set aside for ever."""
    if books.holds:
        yield f"open holds: {books.holds}"
    sums: Counter[str] = Counter(dict.fromkeys(books.balances, 0))
    for person, _kind, amount, _message in books.ledger:
        sums[person] += amount
    if dict(sums) != books.balances:
        yield f"the ledger comes to {dict(sums)}, the wallets to {books.balances}"
    captures = Counter(row[3] for row in books.ledger if row[1:3] == ("capture", -1))
    others = [row for row in books.ledger if row[1] not in {"capture", "grant", "refund"}]
    if others or captures.total() != sum(row[1] == "capture" for row in books.ledger):
        yield f"the ledger holds something else than captures of 1, grants and refunds: {others}"
    said = {
        entry.message_id
        for entry in books.entries
        if entry.message.role == "assistant" and entry.message.text and not is_notice(books, entry)
    }
    previewed = {post.ref for post in posted if post.edits}
    for message in books.messages:
        right = {int(is_earned(message, said))}
        if f"{reply_id(message.id)}.0" in previewed and message.outcome in {
            "interrupted",
            "failed",
        }:
            # What a preview showed before a crash is paid for, if the journal had heard of it.
            right.add(1)
        if captures[message.id] not in right:
            yield (
                f"{message.external_id} ({message.outcome}, {message.reply!r}) was charged "
                f"{captures[message.id]} times, right is {right}"
            )


def is_earned(message: Message, said: set[str]) -> bool:
    """Tell whether the person got something for the message; `said` had words of the model."""
    if message.control or message.outcome not in {"answered", "interrupted", "failed"}:
        return False
    if message.outcome == "failed":
        return CUT_OFF in (message.reply or "")
    return message.outcome == "answered" or message.id in said


def is_unpaid(message: Message) -> bool:
    """Tell whether a message was refused for want of credits; commands cost none."""
    return message.outcome == "refused" and not message.control


def poverty(books: Books) -> Iterator[str]:
    """Whoever was refused had nothing left, was told their code, and nobody is below nothing."""
    refused = Counter(m.person_id for m in books.messages if is_unpaid(m))
    failed = Counter(m.person_id for m in books.messages if m.outcome == "failed")
    refunds = Counter(str(row[0]) for row in books.ledger if row[1] == "refund")
    if len(refused) > 1:
        yield f"more people than the poor one were refused: {refused}"
    for message in books.messages:
        if is_unpaid(message) and not UPGRADE.search(message.reply or ""):
            yield f"{message.external_id} was refused with {message.reply!r}"
    for person, balance in books.balances.items():
        if balance < 0:
            yield f"{person} has {balance} credits"
        if not refused[person]:
            continue
        # Every round asks for more than there is: only what a failure gave back can be left.
        spare = failed[person] + refunds[person]
        if balance > spare:
            yield f"{person} was refused {refused[person]} times and has {balance}, got back {spare}"
