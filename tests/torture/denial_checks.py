"""Whether a new message denied what its conversation waited for, whole, and only where it may.

Each check yields a sentence for every line that does not fit; no sentence means balance.
"""

from collections import Counter
from collections.abc import Iterator

from tests.torture.books import Books, Denial, EntryRow, Message

_NOTICE = "I did not run {}: a new message came before the answer, so it counts as denied."


def denials(books: Books) -> Iterator[str]:
    """Each denial stopped the turn that waited, once, before its tool ran; no other turn says so."""
    wanted = Counter(denial.by for denial in books.denials)
    if wanted != Counter(books.deniers):
        yield f"{wanted} denied an approval, the timelines say {Counter(books.deniers)}"
    for denial in books.denials:
        stopped, by = books.message(denial.message_id), books.message(denial.by)
        assert stopped is not None
        assert by is not None
        yield from _denial(books, denial, stopped=stopped, by=by)
    denied = {denial.message_id for denial in books.denials}
    for message in books.messages:
        if message.reply == _NOTICE.format("ask_first") and message.id not in denied:
            yield f"{message.external_id} was told of a denial, and nothing was denied"


def _denial(books: Books, denial: Denial, *, stopped: Message, by: Message) -> Iterator[str]:
    word = stopped.external_id
    if (stopped.outcome, stopped.reply) != ("interrupted", _NOTICE.format(denial.tool)):
        yield f"{word} was denied {denial.tool} and is {stopped.outcome} with {stopped.reply!r}"
    if by.lane != stopped.lane or by.seq < stopped.seq:
        yield f"{word} was denied {denial.tool} by {by}, which did not follow it in its chat"
    if books.home.mode.busy != "interrupt" or by.platform == "rest":
        yield f"{word} was denied {denial.tool} by {by}, which has to wait on its platform"
    later = [step for step in books.steps[stopped.id] if step.ordinal > denial.ordinal]
    if later:
        yield f"{word} went on after its denial: {later}"


def is_notice(books: Books, entry: EntryRow) -> bool:
    """Tell whether an entry is the notice of a denial, which no model wrote and nobody pays for."""
    notices = (
        _NOTICE.format(denial.tool)
        for denial in books.denials
        if denial.message_id == entry.message_id
    )
    return entry.message.role == "assistant" and entry.message.text in notices
