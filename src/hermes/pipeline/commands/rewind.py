"""`/undo`, `/retry` and `/branch`: going back in a conversation; no message is lost."""

import re

import msgspec

from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.message.rewind import Rewind
from hermes.pipeline.edits import shared_from
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.session_history import PastExchange
from hermes.texts.say import say, words

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_NO_NAMES = frozenset({"main", "list", "to"})
_MOST_AT_ONCE = 100
_MOST_STATES = 100
_MOST_SHOWN = 5
_SHOWN_CHARS = 60
_NOTHING = words("There is nothing to take back.")


async def undo(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Take the last exchanges out of the conversation."""
    if argument and not (argument.isdecimal() and 1 <= int(argument) <= _MOST_AT_ONCE):
        return _refused(
            say(
                "/undo takes a number from 1 to {most}, or nothing for one.",
                most=_MOST_AT_ONCE,
            )
        )
    taken = await _exchanges(turn, ctx, limit=int(argument or 1))
    if not taken:
        return _refused(say(_NOTHING))
    cut = sum(exchange.length for exchange in taken)
    ctx.journal.note("undone", exchanges=len(taken), messages=cut)
    shown = [f"- {_words(exchange)}" for exchange in taken[:_MOST_SHOWN]]
    if len(taken) > _MOST_SHOWN:
        shown.append(say("- and {count} before that", count=len(taken) - _MOST_SHOWN))
    text = "\n".join((say("Taken out of our conversation, with all that followed:"), *shown))
    return Reply(parts=(TextPart(text),), rewind=Rewind(cut=cut))


async def retry(turn: Turn, ctx: TurnContext, argument: str) -> Turn | Reply:
    """Answer the last message again: the turn continues as that message's turn."""
    if argument:
        return _refused(say("/retry takes no text: it makes me answer your last message again."))
    last = next(iter(await _exchanges(turn, ctx, limit=1)), None)
    if last is None or last.said is None:
        return _refused(say("There is no message to answer again."))
    if last.person_id != turn.person_id:
        # Their words would be worked on with the memory, the tools and the credits of another.
        return _refused(
            say("The last message here is somebody else's; /retry answers only your own.")
        )
    written = ctx.services.commands.read(last.said.text)
    if written is not None and not (written.spec is not None and written.spec.is_skill):
        return _refused(say("Your last message was a command; send it again instead."))
    ctx.journal.note("retried", messages=last.length - 1)
    parts = tuple(part for part in last.said.parts if isinstance(part, TextPart))
    event = msgspec.structs.replace(turn.event, parts=parts)
    return msgspec.structs.replace(turn, event=event, retry=last.length - 1)


async def branch(turn: Turn, ctx: TurnContext, argument: str) -> Reply:
    """Save the present state under a name, list the saved states, or continue from one of them."""
    past = ctx.services.store.transcripts
    states = await past.states(turn.lane, epoch=turn.epoch)
    word, _, name = argument.lower().partition(" ")
    if word == "list":
        return _said(_listed(states))
    if word == "to":
        return await _go_to(turn, ctx, name.strip(), states=states)
    name = argument.lower()
    if name and (_NAME.fullmatch(name) is None or name in _NO_NAMES):
        return _refused(
            say(
                "A state cannot be called {argument}: a name has small letters, digits, '-' and '_', "
                "at most 32 of them, and is none of main, list and to.",
                argument=repr(argument[:40]),
            )
        )
    if name in states:
        return _refused(
            say("There is a state {name} already. /branch list shows all of them.", name=name)
        )
    if len(states) >= _MOST_STATES:
        return _refused(
            say(
                "{count} states are kept already, as many as a conversation can have.",
                count=len(states),
            )
        )
    if not await _exchanges(turn, ctx, limit=1):
        return _refused(say("Nothing has been said yet that could be kept."))
    name = name or _free_name(states)
    ctx.journal.note("branched", branch=name)
    text = say("Kept as {name}. /branch to {name} goes back to this.", name=name)
    return Reply(parts=(TextPart(text),), rewind=Rewind(keeps=name))


async def _go_to(turn: Turn, ctx: TurnContext, name: str, *, states: dict[str, int]) -> Reply:
    if name not in states:
        return _refused(
            say("There is no state {name}. {states}", name=repr(name[:40]), states=_listed(states))
        )
    if await shared_from(turn, ctx.services.store.souls):
        return _refused(
            say(
                "Others have joined this conversation since then, so I cannot go back to that state."
            )
        )
    is_kept = await ctx.services.store.transcripts.is_kept(turn.lane, epoch=turn.epoch)
    keeps = "" if is_kept else _free_name(states)
    ctx.journal.note("went_to", branch=name, kept=keeps or None)
    text = f"We go on from {name}."
    if keeps:
        text += say(
            " What we had is kept as {keeps}: /branch to {keeps} goes back to it.", keeps=keeps
        )
    return Reply(parts=(TextPart(text),), rewind=Rewind(keeps=keeps, goes_to=name))


async def _exchanges(turn: Turn, ctx: TurnContext, *, limit: int) -> tuple[PastExchange, ...]:
    """Return the last exchanges that the person may see."""
    since = await shared_from(turn, ctx.services.store.souls)
    return await ctx.services.store.transcripts.exchanges(
        turn.lane, epoch=turn.epoch, since=since, limit=limit
    )


def _free_name(states: dict[str, int]) -> str:
    numbers = (f"state-{number}" for number in range(1, len(states) + 2))
    return next(name for name in numbers if name not in states)


def _listed(states: dict[str, int]) -> str:
    if not states:
        return say("No state of this conversation is kept; /branch keeps the present one.")
    lines = [f"- {name}: {count} messages" for name, count in sorted(states.items())]
    return "\n".join((say("These states of our conversation are kept:"), *lines))


def _words(exchange: PastExchange) -> str:
    if exchange.said is None:
        return "(erased)"
    line = " ".join(exchange.said.text.split())
    if not line:
        return say("(no text)")
    return line if len(line) <= _SHOWN_CHARS else f"{line[: _SHOWN_CHARS - 1].rstrip()}…"


def _said(text: str) -> Reply:
    return Reply(parts=(TextPart(text),))


def _refused(text: str) -> Reply:
    return Reply(parts=(TextPart(text),), outcome=Outcome.REFUSED)
