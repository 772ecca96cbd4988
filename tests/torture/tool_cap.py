"""Which turns ended without words because their rounds of tool calls were used up.

After the last round Hermes offers the model no tools. The model of the stories asks for a tool all the
same if the last message, one that steered the turn, wants one. Hermes drops that call, so nothing is
left of the answer: the person gets what the tools found, and the message that steered the turn is
answered by a turn of its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hermes.config import TurnSettings
from hermes.message.chat import ChatMessage
from hermes.message.parts import tool_calls_of
from tests.torture.books import Books, EntryRow, Message

# Homes under torture keep the default.
ROUNDS = TurnSettings().tool_rounds
TOOL_OUTPUT = "I could not put this into words just now."


def rounds_of(block: Iterable[ChatMessage]) -> int:
    """Return how many answers of a turn asked for tools."""
    return sum(bool(tool_calls_of(message.parts)) for message in block)


def ended_at_cap(books: Books) -> frozenset[str]:
    """Return the ids of the messages whose turns ended without words at the cap."""
    blocks: dict[str, list[EntryRow]] = defaultdict(list)
    for entry in books.entries:
        blocks[entry.message_id].append(entry)
    return frozenset(
        message.id for message in books.messages if _is_cut(message, blocks[message.id])
    )


def _is_cut(message: Message, block: Sequence[EntryRow]) -> bool:
    is_raw = message.outcome == "answered" and (message.reply or "").startswith(TOOL_OUTPUT)
    if not is_raw or not block:
        return False
    rounds = rounds_of(entry.message for entry in block)
    return rounds == ROUNDS and block[-1].message.role == "tool"
