"""Whether what people said was learnt once, as theirs, and paid for by the platform alone."""

import re
from collections import Counter
from collections.abc import Iterator

from tests.torture.books import Books
from tests.torture.workload import LEARN

_TOLD = re.compile(rf"(\S+-m\d+) {re.escape(LEARN)}")


def key_of(word: str) -> str:
    """Return the key under which something said is kept."""
    return f"note_{word}".replace("-", "_")


def told_in(text: str) -> list[str]:
    """Return the words of the messages in a text that are to be learnt from."""
    return _TOLD.findall(text)


def learning(books: Books) -> Iterator[str]:
    """Every job has ended, and each thing said is one fact of whoever said it."""
    yield from (f"a job was left with {failure!r}" for failure in books.job_failures)
    kept: Counter[str] = Counter()
    for fact in books.facts:
        kept[fact.key] += 1
        taught = books.message(fact.source)
        if taught is None or taught.person_id != fact.person_id:
            yield f"{fact.key} of {fact.person_id} was taught by {taught}"
        if fact.earlier:
            yield f"{fact.key} was learnt again and again: {fact.earlier}"
    said: Counter[str] = Counter()
    for entry in books.entries:
        if entry.message.role == "user":
            said.update(key_of(word) for word in told_in(entry.message.text))
    if said != kept:
        yield f"said and not learnt: {said - kept}, learnt and not said: {kept - said}"
    if books.learning_people:
        yield f"learning was booked to {books.learning_people}"
