"""The words Hermes itself says: when a model, a tool or a time limit fails the person."""

import msgspec

from hermes.errors import (
    AnswerInvalid,
    AnswerTooLong,
    ModelsStopped,
    OverBudget,
    PromptTooLong,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    StreamTruncated,
    TryLater,
)
from hermes.message.outcome import Outcome
from hermes.message.parts import Part, TextPart, ToolResultPart
from hermes.message.reply import Reply
from hermes.message.reply_tags import is_no_reply
from hermes.pipeline.exchange import is_continued, said_so_far
from hermes.pipeline.interrupts import TIME_LIMIT
from hermes.pipeline.turn import Turn
from hermes.ports.provider import StopReason
from hermes.texts.say import say, words

_TOOL_CHARS = 3_000
_DAY_S = 86_400.0
_WORDS_PER_TOKEN_TENTHS = 7


_UNREACHED = words("I could not reach my model just now. Please try again in a moment.")
_BUSY = words("My model has too much to do just now. Please try again in a moment.")
_KEY = words(
    "My model's service does not accept my key. The operator of this bot has to correct that."
)
_UNKNOWN = words(
    "My model's service does not know the model. The operator of this bot has to correct that."
)
_TOO_LONG = words(
    "This conversation is too long for my model. /new starts another one; a shorter "
    "message may help, too."
)
_REFUSED = words(
    "My model's service refused this request. Other words, or a new conversation with "
    "/new, may help."
)
_BROKEN = words("My model's service failed just now. Please try again in a moment.")
_BY_STATUS = {
    401: _KEY,
    402: words(
        "My model's service wants to be paid first. The operator of this bot has to see to that."
    ),
    403: _KEY,
    404: _UNKNOWN,
    413: _TOO_LONG,
    429: _BUSY,
    503: _BUSY,
    529: _BUSY,
}
_BY_KIND: tuple[tuple[type[ProviderError], str], ...] = (
    (ProviderRejected, _REFUSED),
    (ProviderTimeout, words("My model took too long to answer. Please try again in a moment.")),
    (StreamTruncated, words("The connection to my model broke off. Please try again in a moment.")),
    (AnswerTooLong, words("My model did not come to an end. Please ask in other words.")),
    (AnswerInvalid, words("I could not use what my model wrote. Please ask again.")),
)


def model_failed(turn: Turn, error: ProviderError) -> Reply:
    """Return the friendly failure, or the raw tool output when tools had already run."""
    if isinstance(error, PromptTooLong):
        return too_long(turn, error)
    return _tool_output(turn, str(error)) or failed(_words_for(error), str(error))


def _words_for(error: ProviderError) -> str:
    """Return what a person is told of a failed call; the cause itself is the operator's matter."""
    if error.status in _BY_STATUS:
        return say(_BY_STATUS[error.status])
    for kind, text in _BY_KIND:
        if isinstance(error, kind):
            return say(text)
    return say(_UNREACHED) if error.status is None else say(_BROKEN)


def no_model(turn: Turn, cause: str) -> Reply:
    """Return the end of a turn that no configured model can serve now."""
    text = say(
        "None of my models can answer now. Please try again later, or tell the operator of "
        "this bot."
    )
    return _tool_output(turn, cause) or failed(text, cause)


_EMPTY: dict[StopReason, tuple[str, str]] = {
    "refusal": (
        words("My model refused to answer that. Please ask in other words."),
        "the model, or its service's content filter, refused to answer",
    ),
    "length": (
        words(
            "My model reached its length limit before it wrote an answer. Please ask for less at "
            "once."
        ),
        "the answer reached the output limit before it had any text; thoughts count, too",
    ),
}


def empty_answer(turn: Turn, stop_reason: StopReason) -> Reply:
    """Return the failure for an answer without text, or the raw tool output when tools had run."""
    text, cause = _EMPTY.get(
        stop_reason, (words("My model gave an empty answer. Please ask again."), "empty answer")
    )
    return _tool_output(turn, cause) or failed(say(text), cause)


def too_long(turn: Turn, error: PromptTooLong) -> Reply:
    """Return the end of a turn whose message no model can hold."""
    text = say("That is too long for my model. Please send it in smaller parts.")
    if error.limit:
        count = error.limit * _WORDS_PER_TOKEN_TENTHS // 10
        text = say(
            "That is too long for my model: it takes about {words} words at a time. Please send "
            "less, or in smaller parts.",
            words=f"{count:,}",
        )
    refused = msgspec.structs.replace(failed(text, str(error)), code=error.code)
    return _tool_output(turn, str(error)) or refused


def not_now(turn: Turn, error: TryLater) -> Reply:
    """Return the end of a turn for which no model may be called now."""
    if isinstance(error, OverBudget):
        if error.retry_after <= _DAY_S:
            text = say("There is no budget left for this. Please try again tomorrow.")
        else:
            text = say("There is no budget left for this. Please try again next month.")
    elif isinstance(error, ModelsStopped):
        text = say("I am switched off at the moment. Please try again later.")
    else:
        text = say("Too many people are asking at once. Please try again in a moment.")
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
    text = say(
        "I could not put this into words just now. This is what my tools found:\n\n{output}",
        output=output,
    )
    return Reply(parts=(TextPart(text),), reason=cause, earned=True)


def cut_off(text: str, cause: str) -> Reply:
    """Return an honest partial answer."""
    note = say("\n\n(My answer was cut off here. Please ask again.)")
    parts = (TextPart(text + note),)
    return Reply(parts=parts, outcome=Outcome.FAILED, reason=cause, earned=True)


def failed(text: str, cause: str) -> Reply:
    """Return a failure in plain words."""
    return Reply(parts=(TextPart(text),), outcome=Outcome.FAILED, reason=cause)


def stopped_reply(turn: Turn, partial: str, *, by: str) -> Reply:
    """Return the end of a turn that a person, or its time limit, has stopped."""
    return _out_of_time(turn, partial) if by == TIME_LIMIT else interrupted(partial, by)


def _out_of_time(turn: Turn, partial: str) -> Reply:
    cause = f"the turn reached its time limit ({TIME_LIMIT}, or turn_limit_s of the agent)"
    if not partial:
        text = say(
            "This took longer than I may work on one message, so I stopped. Please ask for less "
            "at once."
        )
        return _tool_output(turn, cause) or failed(text, cause)
    note = say(
        "\n\n(I stopped here: this took longer than I may work on one message. Please ask for "
        "less at once.)"
    )
    parts = (TextPart(partial + note),)
    return Reply(parts=parts, outcome=Outcome.FAILED, reason=cause, earned=True)


def interrupted(partial: str, by: str) -> Reply:
    """Return what was written before the person stopped it."""
    parts: tuple[Part, ...] = (TextPart(partial),) if partial else ()
    return Reply(
        parts=parts,
        outcome=Outcome.INTERRUPTED,
        reason=f"stopped by {by}",
        earned=bool(partial),
    )


def passed_over(tool: str, by: str) -> Reply:
    """Return the end of a turn that waited for an approval when the person wrote something else."""
    text = say(
        "I did not run {tool}: a new message came before the answer, so it counts as denied.",
        tool=tool,
    )
    return Reply(
        parts=(TextPart(text),),
        outcome=Outcome.INTERRUPTED,
        reason=f"the approval was denied by {by}",
        is_notice=True,
    )


def expired(*, tell: bool, is_begun: bool) -> Reply:
    """Return the end of a message that waited, or was cut off, too long ago to be wanted."""
    text = say("That message waited too long while I was away. Please send it again.")
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
    text = say(
        "Too many people were asking, and that message waited too long. Please send it again."
    )
    return Reply(parts=(TextPart(text),), outcome=Outcome.EXPIRED, reason=cause)


def gave_up(attempts: int) -> Reply:
    """Return the end of a message whose turn was cut off too often."""
    return failed(
        say("Something went wrong each time I tried to answer that. Please try another wording."),
        f"the turn was cut off {attempts} times (lanes.max_attempts)",
    )


def suspended(cause: str, *, ends: bool = True) -> Reply:
    """Return the end of a message whose session was cut off by restarts again and again."""
    text = say(
        "I was restarted again and again while I worked on that, so I stopped trying. Your "
        "next message starts a new conversation."
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
        say("I had to restart several times before I came to that. Please send it again."),
        "it waited while the gateway crashed again and again (process.crash_starts)",
    )


def answered(turn: Turn) -> Reply:
    """Return the reply with the model's last text, and why it may not be whole."""
    parts = tuple(part for part in turn.exchanged[-1].message.parts if isinstance(part, TextPart))
    if is_continued(turn):
        parts = (TextPart(said_so_far(turn)),)
    if len(parts) == 1 and is_no_reply(parts[0].text):
        return Reply(parts=(), silent=True, reason="the model chose to say nothing (NO_REPLY)")
    mark, reason = _cut_mark(turn)
    for word in (turn.missed, turn.unseen, mark):
        parts = (*parts, TextPart(f"\n\n({word})")) if word else parts
    return Reply(parts=parts, earned=True, reason=reason)


def _cut_mark(turn: Turn) -> tuple[str, str | None]:
    """Return what the person is told of an answer that is not whole, and the operator's reason."""
    if turn.rest == "left":
        return (
            say('My answer was too long and stops here. Say "continue" and I go on.'),
            "the answer reached the output limit of its model (stop reason: length)",
        )
    if turn.stop_reason == "refusal":
        return (
            say("My model refused to go on here. Other words may help."),
            "the model, or its service's content filter, ended the answer (stop reason: refusal)",
        )
    return "", None
