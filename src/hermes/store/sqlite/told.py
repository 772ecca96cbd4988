"""What only the graph still remembers of a conversation, once its inbox rows were forgotten."""

from collections.abc import Sequence

from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, MessageState, Outcome
from hermes.message.parts import NotePart
from hermes.message.reply import Usage
from hermes.message.source import Source
from hermes.ports.records import MessageRecord, Result
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.queries import load

_SQL = load("transcripts")

Told = tuple[MessageRecord, Result]


def remembered(
    engine: Engine, lane: str, exchanges: Sequence[tuple[str, list[ChatMessage]]]
) -> tuple[Told, ...]:
    """Return exchanges, each with the id of its message, as records with their results."""
    told = (_told(engine, lane, message_id, said=said) for message_id, said in exchanges)
    return tuple(one for one in told if one is not None)


def _told(engine: Engine, lane: str, message_id: str, *, said: list[ChatMessage]) -> Told | None:
    row = engine.reader.row(_SQL["provenance"], (message_id, lane))
    if row is None or not said or said[0].role != "user":
        return None
    person_id, platform, chat_id, at, model, tokens_in, tokens_out, cost, unpriced = row
    reply = next((entry.text for entry in reversed(said) if entry.role == "assistant"), "")
    event = MessageEvent(
        account="",
        route="",
        external_id=message_id,
        source=Source(platform=platform, chat_id=chat_id, user_id=""),
        parts=tuple(part for part in said[0].parts if not isinstance(part, NotePart)),
        at=at,
    )
    record = MessageRecord(
        id=message_id,
        seq=0,
        lane=lane,
        person_id=person_id,
        event=event,
        state=MessageState.DONE,
        busy=BusyPolicy.QUEUE,
        control=False,
        received_at=at,
        attempts=1,
        external_id=message_id,
        platform=platform,
        outcome=Outcome.ANSWERED if reply else Outcome.FAILED,
        done_at=at,
    )
    usage = Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost, unpriced=unpriced)
    return record, Result(text=reply, usage=usage, model=model)
