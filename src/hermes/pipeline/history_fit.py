"""Which earlier messages a turn shows its model: what its context holds, and what was answered.

If there is no room for all of them, the older ones are left out here without a model, down to half
of the room: the commit makes that a version in the graph, so that the next turns begin with the same
bytes. Messages that no model could answer do not come back as bulk of every later prompt. Computed
again when a turn is resumed; it must come out the same.
"""

import re

import msgspec

from hermes.calls.context_fit import (
    OLD_RESULT_CHARS,
    cut_before,
    fixed_tokens,
    is_surely_short,
    message_tokens,
    shorten_results,
)
from hermes.message.chat import ChatMessage, is_unanswered, user_text
from hermes.message.parts import TextPart
from hermes.pipeline.turn import Turn
from hermes.ports.transcripts import Compaction

# A message that got no answer is shown to the next turn, which may be "try again", if it is short.
_SHOWN_UNANSWERED = 2_000
_MEDIA = " " * 2_000
# Only Hermes writes it behind an empty line: a summary has none, and its lines are quoted.
_NOTE = re.compile(
    r"(?:\A|\n\n)\[The (\d{1,7}) messages? (?:before|after) this (?:is|are) left out[^\[\]]*\]$"
)


def fit_history(turn: Turn, room: int) -> Turn:
    """Return the turn with the earlier messages that a model with so much room is shown."""
    stop = _stop_for(turn, room)
    return turn if stop is None else leave_out(turn, stop)


def sent_tokens(turn: Turn, *, least: int) -> int:
    """Return a high estimate of what the turn's last call was sent and wrote; 0 if below `least`."""
    if is_surely_short(_chars(turn), least):
        return 0
    said = sum(message_tokens(message) for message in turn.context())
    return fixed_tokens(turn.system, turn.tools) + said


def said_tokens(turn: Turn) -> int:
    """Return a high estimate of a turn's messages, without what stands for older ones."""
    said = sum(message_tokens(message) for message in turn.context())
    return said - (0 if turn.compaction is None else message_tokens(turn.compaction.message))


def leave_out(turn: Turn, stop: int) -> Turn:
    """Return the turn with a note in the place of its messages before `stop` of the graph."""
    assert turn.start is not None
    base = turn.base
    note = _note_on(turn.compaction, stop - base)
    made = Compaction(start=turn.shared_from, stop=stop, message=note)
    history = turn.history[max(0, stop - turn.start) :]
    return msgspec.structs.replace(turn, compaction=made, history=history, start=stop)


def without_unanswered(turn: Turn) -> Turn:
    """Return the turn without messages that no model could answer, except a short last one."""
    if not any(map(is_unanswered, turn.history)):
        return turn
    kept = tuple(one for index, one in enumerate(turn.history) if _is_shown(turn, index))
    if len(kept) == len(turn.history):
        return turn
    return msgspec.structs.replace(turn, history=kept, start=None)


def _is_shown(turn: Turn, index: int) -> bool:
    message = turn.history[index]
    if not is_unanswered(message):
        return True
    is_last = index == len(turn.history) - 1
    if not is_last and turn.history[index + 1].role != "user":
        # It was answered after all, by a retry.
        return True
    return is_last and (turn.retry is not None or len(message.text) <= _SHOWN_UNANSWERED)


def _stop_for(turn: Turn, room: int) -> int | None:
    """Return before which message of the graph the turn has to leave out what was said, if any."""
    if turn.start is None or turn.event.history:
        # No run of messages: each call leaves out what it has no room for.
        return None
    is_gap = turn.start > turn.base
    if not is_gap and is_surely_short(_chars(turn), room):
        return None
    said = shorten_results(turn.history, OLD_RESULT_CHARS, stop=len(turn.history))
    sizes = [
        message_tokens(message) if _is_shown(turn, index) else 0
        for index, message in enumerate(said)
    ]
    most = len(said) - 1 if turn.retry is not None else len(said)
    beside = _beside(turn)
    if beside + sum(sizes) <= room:
        return turn.start if is_gap else None
    drop = beside + sum(sizes) - max(room // 2, beside)
    stop = turn.start + max(0, min(most, cut_before(said, sizes, drop)))
    # Where nothing was said before, only the message itself can be too long.
    return stop if stop > turn.base else None


def _beside(turn: Turn) -> int:
    """Return the tokens of what cannot be left out."""
    summary = 0 if turn.compaction is None else message_tokens(turn.compaction.message)
    own = 0 if turn.user is None else message_tokens(turn.user)
    return fixed_tokens(turn.system, turn.tools) + summary + own


def _chars(turn: Turn) -> int:
    """Return about how many characters a turn sends; media count as much as they may take."""
    chars = sum(len(block) for block in turn.system) + 500 * len(turn.tools)
    for message in turn.context():
        parts = message.parts
        if len(parts) == 1 and type(parts[0]) is TextPart:
            # Nearly all of a long history.
            chars += len(parts[0].text) + 6
        else:
            chars += sum(len(getattr(part, "text", _MEDIA)) + 6 for part in parts)
    return chars


def _note_on(before: Compaction | None, count: int) -> ChatMessage:
    """Return what models read in the place of `count` messages, behind what was there before."""
    text = "" if before is None else before.message.text
    known = _NOTE.search(text)
    if known is not None:
        text, count = text[: known.start()].rstrip(), count + int(known[1])
    place = "after" if text else "before"
    verb = "message" if count == 1 else "messages"
    told = f"[The {count} {verb} {place} this {'is' if count == 1 else 'are'} left out: there is no room.]"
    return user_text(f"{text}\n\n{told}" if text else told)
