"""Everything that is kept of one person, as lines of JSON: a manifest, the data, and an end with counts.

All of it is read from the files, beside the gateway, as it was at one moment: what is written meanwhile
is not in it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256

import msgspec

from hermes import __version__
from hermes.agents.secrets import mask_of
from hermes.control.person_export import Line, session_lines
from hermes.errors import Conflict
from hermes.ports.person_rows import HomeReader

FORMAT = "hermes.user-export/1"
_LEFT_OUT = {
    "media": "files in the media cache, which are deleted after some days",
    "quoted": "in accepted and overheard: what others had said in the chat before, and the text of the "
    "message that was answered",
    "note": "in message: notes to the model beside a message, which quote what others had said",
}
_BEWARE = (
    "In chats with other people, answers (in message, delivery and response) and summaries may repeat "
    "what others said: look through them before you pass them on."
)
_ABOUT = {
    "person": "who the person is",
    "consent": "whether their conversations may be used for training",
    "channel": "their ids on platforms",
    "pairing": "their request to be let in",
    "link_code": "codes with which they could link another channel",
    "fact": "what Hermes remembers of them",
    "dream": "the weekly summary of these",
    "wallet": "their credits",
    "credit": "every line of their ledger",
    "hold": "credits set aside for unfinished messages",
    "session": "their sessions",
    "message": "what was said in their sessions; where others wrote too, only their own words",
    "accepted": "messages as they came in, of the last days",
    "delivery": "what was sent to them, of the last days",
    "approval": "what tools asked them",
    "interaction": "which model and tools answered each message, and what it took",
    "spending": "what model calls for them cost, by day",
    "key": "their keys for /v1, without the secrets",
    "response": "stored responses of these keys",
    "job": "their scheduled jobs",
    "chat": "what their chats are called",
    "overheard": "what they said in groups without meaning the bot, of the last day",
    "problem": "what could not be read",
}


def user_export(
    reader: HomeReader, person_id: str, *, user: str, now: Callable[[], float]
) -> Iterator[bytes]:
    """Yield the lines of an export, each with its line end; `user` is the name that was asked for.

    They are read as of the first line, whose `at` is that time. Raises `Conflict` for an erased person.
    """
    with reader.moment():
        yield from _export(reader, person_id, user=user, at=now())


def check_not_erased(state: object, user: str) -> None:
    """Raise `Conflict` if nothing of a person can be read any more."""
    if state == "erased":
        raise Conflict(f"{user[:80]} was erased: nothing of them can be read any more.")


def _export(reader: HomeReader, person_id: str, *, user: str, at: float) -> Iterator[bytes]:
    counts, digest = Counter[str](), sha256()
    mask = mask_of(reader.secret_values())
    manifest: Line = {
        "kind": "manifest",
        "format": FORMAT,
        "hermes": __version__,
        "at": at,
        "person": person_id,
        "user": user,
        "kinds": _ABOUT,
        "left_out": {**reader.left_out(), **_LEFT_OUT},
        "beware": _BEWARE,
    }
    for line in _lines(manifest, reader, person_id=person_id, user=user):
        content = msgspec.json.encode(mask.report(line)) + b"\n"
        counts[str(line["kind"])] += 1
        digest.update(content)
        yield content
    end: Line = {"kind": "end", "counts": dict(counts), "sha256": digest.hexdigest()}
    yield msgspec.json.encode(end) + b"\n"


def _lines(manifest: Line, reader: HomeReader, *, person_id: str, user: str) -> Iterator[Line]:
    yield manifest
    for row in reader.person_rows(person_id):
        if row.kind == "person":
            check_not_erased(row.fields["state"], user)
            yield {"kind": row.kind, "user": user, **row.fields}
        else:
            yield {"kind": row.kind, **row.fields}
    yield from session_lines(reader, person_id)
