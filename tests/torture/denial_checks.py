"""Whether a new message denied what its conversation waited for, whole, and only where it may.

Each check yields a sentence for every line that does not fit; no sentence means balance.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tests.torture.books import Books, Denial, EntryRow, Message
from tests.torture.driver import Driver

_ASKS = "ask_first"
_NOTICE = "I did not run {}: a new message came before the answer, so it counts as denied."


def denials(books: Books, driver: Driver) -> Iterator[str]:
    """Each denial stopped the turn that waited, once, before its tool ran; no other turn says so."""
    yield from _unasked(books)
    yield from _unheeded(books, driver)
    wanted = Counter(denial.by for denial in books.denials)
    if wanted != Counter(books.deniers):
        yield f"{wanted} denied an approval, the timelines say {Counter(books.deniers)}"
    for denial in books.denials:
        stopped, by = books.message(denial.message_id), books.message(denial.by)
        assert stopped is not None
        assert by is not None
        yield from _denial(books, denial, driver, stopped=stopped, by=by)
    denied = {denial.message_id for denial in books.denials}
    for message in books.messages:
        if message.reply == _NOTICE.format(_ASKS) and message.id not in denied:
            yield f"{message.external_id} was told of a denial, and nothing was denied"


def _unasked(books: Books) -> Iterator[str]:
    """A tool that asks first ran at most as often as its turn was allowed."""
    ran = Counter(str(run["turn"]) for run in books.runs if run["tool"] == _ASKS)
    for turn, times in ran.items():
        if times > books.allowed[turn]:
            yield f"{turn} ran {_ASKS} {times} times, allowed were {books.allowed[turn]}"


def _unheeded(books: Books, driver: Driver) -> Iterator[str]:
    """A message that says that it denies ended the turn before it, which had asked."""
    denied = {denial.message_id: denial.by for denial in books.denials}
    for words in driver.order.values():
        for word, following in pairwise(words):
            by = driver.promises[following]
            asked = books.message(driver.promises[word].message_id or "")
            if not by.said.denies or asked is None or asked.outcome == "failed":
                continue
            if denied.get(asked.id) != by.message_id:
                yield f"{word} is {asked.outcome}, and {following} did not deny what it asked"


def _denial(
    books: Books, denial: Denial, driver: Driver, *, stopped: Message, by: Message
) -> Iterator[str]:
    word = stopped.external_id
    if (stopped.outcome, stopped.reply) != ("interrupted", _NOTICE.format(denial.tool)):
        yield f"{word} was denied {denial.tool} and is {stopped.outcome} with {stopped.reply!r}"
    if by.lane != stopped.lane or by.seq < stopped.seq:
        yield f"{word} was denied {denial.tool} by {by}, which did not follow it in its chat"
    is_said = driver.promises[by.external_id].said.denies
    if not is_said and (books.home.mode.busy != "interrupt" or by.platform == "rest"):
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
