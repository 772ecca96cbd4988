"""Ids of mails: parses others', makes ours from a delivery's key, and finds the thread. Pure.

A thread is identified by its first mail. Programs that answer name only our mail, so ours carry the
thread's root in their own id, and nothing has to be stored.
"""

import base64
import binascii
import hashlib
import re
from typing import Final

_ID: Final = re.compile(rb"<([!-;=?-~]{1,1000})>")
# The name of a mail without an id; never written into a header.
_MADE_UP: Final = "uid:"
_OWN: Final = re.compile(r"hermes\.([A-Za-z0-9_-]{1,100})(?:\.([A-Za-z0-9_-]{1,400}))?@(.+)")
MAX_ID: Final = 250
MAX_REFERENCES: Final = 20
# A longer root is not carried along: lines and filters have limits.
_LONGEST_ROOT: Final = 160
_LONGEST_KEY: Final = 60


def ids_in(value: bytes) -> tuple[str, ...]:
    """Return the ids in a header, without their brackets; ids that are too long are left out."""
    found = (one.decode("ascii") for one in _ID.findall(value[:60_000]))
    return tuple(one for one in found if len(one) <= MAX_ID)


def made_up(validity: int, uid: int) -> str:
    """Return the name of a mail that has no id."""
    return f"{_MADE_UP}{validity}.{uid}"


def is_real(text: str | None) -> bool:
    """Return whether a text is an id that a mail can have."""
    if not text or text.startswith(_MADE_UP):
        return False
    return ids_in(f"<{text}>".encode("utf-8", "replace")) == (text,)


def own_id(key: str, *, thread: str | None, domain: str) -> str:
    """Return the id of a delivery's mail: always the same for the same key."""
    root = f".{_coded(thread)}" if thread and len(thread) <= _LONGEST_ROOT else ""
    if len(key) <= _LONGEST_KEY and key.isascii():
        whole = f"hermes.{_coded(key)}{root}@{domain}"
        if len(whole) <= MAX_ID:
            return whole
    # The thread matters more than matching a report to its delivery.
    return f"hermes.{_digest(key)}{root}@{domain}"


def is_own(message_id: str, *, domain: str) -> bool:
    """Return whether a mail under this id is one of ours."""
    found = _OWN.fullmatch(message_id)
    return found is not None and found[3].lower() == domain


def key_in(message_id: str) -> str | None:
    """Return the delivery key in the id of one of our mails; None if there is none."""
    found = _OWN.fullmatch(message_id)
    return None if found is None else _plain(found[1])


def root_of(message_id: str, *, domain: str) -> str:
    """Return the first mail of another's thread: itself, or the root that one of ours carries."""
    found = _OWN.fullmatch(message_id)
    if found is None or found[3].lower() != domain or not found[2]:
        return message_id
    root = _plain(found[2])
    return root if root is not None and is_real(root) else message_id


def thread_of(references: tuple[str, ...], message_id: str, *, domain: str) -> str:
    """Return the thread of a mail by its references, oldest first."""
    return root_of(references[0], domain=domain) if references else message_id


def trimmed(references: tuple[str, ...]) -> tuple[str, ...]:
    """Return a limited number of references: the root, then the newest."""
    unique = tuple(dict.fromkeys(references))
    if len(unique) <= MAX_REFERENCES:
        return unique
    return (unique[0], *unique[1 - MAX_REFERENCES :])


def _coded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode("ascii").rstrip("=")


def _plain(coded: str) -> str | None:
    try:
        return base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
