"""The words Hermes itself says: when a model, a tool or a time limit fails the person."""

import msgspec

from hermes.errors import ModelsStopped, OverBudget, PromptTooLong, TryLater
from hermes.message.outcome import Outcome
from hermes.message.parts import Part, TextPart, ToolResultPart
from hermes.message.reply import Reply
from hermes.message.reply_tags import is_no_reply
from hermes.pipeline.turn import Turn

_TOOL_CHARS = 3_000
_DAY_S = 86_400.0
_WORDS_PER_TOKEN_TENTHS = 7


def model_failed(turn: Turn, cause: str) -> Reply:
    """Return the friendly failure, or the raw tool output when tools had already run."""
    found = _tool_output(turn, cause)
    text = "I could not reach my model just now. Please try again in a moment."
    return found or failed(text, cause)


def too_long(turn: Turn, error: PromptTooLong) -> Reply:
    """Return the end of a turn whose message no model can hold."""
    text = "That is too long for my model. Please send it in smaller parts."
    if error.limit:
        words = error.limit * _WORDS_PER_TOKEN_TENTHS // 10
        text = (
            f"That is too long for my model: it takes about {words:,} words at a time. Please send "
            "less, or in smaller parts."
        )
    refused = msgspec.structs.replace(failed(text, str(error)), code=error.code)
    return _tool_output(turn, str(error)) or refused


def not_now(turn: Turn, error: TryLater) -> Reply:
    """Return the end of a turn for which no model may be called now."""
    if isinstance(error, OverBudget):
        when = "tomorrow" if error.retry_after <= _DAY_S else "next month"
        text = f"There is no budget left for this. Please try again {when}."
    elif isinstance(error, ModelsStopped):
        text = "I am switched off at the moment. Please try again later."
    else:
        text = "Too many people are asking at once. Please try again in a moment."
    refused = msgspec.structs.replace(failed(text, str(error)), code=error.code)
    return _tool_output(turn, str(error)) or refused


def _tool_output(turn: Turn, cause: str) -> Reply | None:
    results = [
        part
        for entry in turn.exchanged
        for part in entry.message.parts
        if isinstance(part, ToolResultPart) and not part.failed
    ]
    if not results:
        return None
    output = "\n\n".join(result.text for result in results)[:_TOOL_CHARS]
    text = f"I could not put this into words just now. This is what my tools found:\n\n{output}"
    return Reply(parts=(TextPart(text),), reason=cause, earned=True)


def cut_off(text: str, cause: str) -> Reply:
    """Return an honest partial answer."""
    note = "\n\n(My answer was cut off here. Please ask again.)"
    parts = (TextPart(text + note),)
    return Reply(parts=parts, outcome=Outcome.FAILED, reason=cause, earned=True)


def failed(text: str, cause: str) -> Reply:
    """Return a failure in plain words."""
    return Reply(parts=(TextPart(text),), outcome=Outcome.FAILED, reason=cause)


def interrupted(partial: str, by: str) -> Reply:
    """Return what was written before the person stopped it."""
    parts: tuple[Part, ...] = (TextPart(partial),) if partial else ()
    return Reply(
        parts=parts,
        outcome=Outcome.INTERRUPTED,
        reason=f"stopped by {by}",
        earned=bool(partial),
    )


def expired(*, tell: bool, is_begun: bool) -> Reply:
    """Return the end of a message that waited, or was cut off, too long ago to be wanted."""
    text = "That message waited too long while I was away. Please send it again."
    return Reply(
        parts=(TextPart(text),),
        outcome=Outcome.EXPIRED,
        reason="cut off longer ago than lanes.resume_within_s"
        if is_begun
        else "older than inbox.expire_after_s when its turn would have started",
        silent=not tell,
    )


def no_place(cause: str) -> Reply:
    """Return the end of a message that waited for a model call until it expired."""
    text = "Too many people were asking, and that message waited too long. Please send it again."
    return Reply(parts=(TextPart(text),), outcome=Outcome.EXPIRED, reason=cause)


def gave_up(attempts: int) -> Reply:
    """Return the end of a message whose turn was cut off too often."""
    return failed(
        "Something went wrong each time I tried to answer that. Please try another wording.",
        f"the turn was cut off {attempts} times (lanes.max_attempts)",
    )


def suspended(cause: str, *, ends: bool = True) -> Reply:
    """Return the end of a message whose session was cut off by restarts again and again."""
    text = (
        "I was restarted again and again while I worked on that, so I stopped trying. "
        "Your next message starts a new conversation."
    )
    return Reply(
        parts=(TextPart(text),),
        outcome=Outcome.FAILED,
        reason=cause,
        ends="restarts" if ends else None,
    )


def left_alone() -> Reply:
    """Return the end of a message that waited while the gateway crashed again and again."""
    return failed(
        "I had to restart several times before I came to that. Please send it again.",
        "it waited while the gateway crashed again and again (process.crash_starts)",
    )


def answered(turn: Turn) -> Reply:
    """Return the reply with the model's last text, or the reply for an empty answer."""
    parts = tuple(part for part in turn.exchanged[-1].message.parts if isinstance(part, TextPart))
    if not any(part.text.strip() for part in parts):
        return Reply(
            parts=(TextPart("My model gave an empty answer. Please ask again."),),
            reason="empty answer",
        )
    if len(parts) == 1 and is_no_reply(parts[0].text):
        return Reply(parts=(), silent=True, reason="the model chose to say nothing (NO_REPLY)")
    for word in (turn.missed, turn.unseen):
        parts = (*parts, TextPart(f"\n\n({word})")) if word else parts
    return Reply(parts=parts, earned=True)
