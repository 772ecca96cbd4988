"""Formats a reply as the bytes of a mail: headers safe from injection, text and HTML, attachments.
Pure.

Written by hand because Python's own folding encodes long ids, which breaks threads.
"""

import base64
import quopri
import re
from collections.abc import Sequence
from email.utils import formatdate
from typing import Final
from urllib.parse import quote

import msgspec

from hermes.channels.email.addresses import MailAddress

_WIDTH: Final = 76
# Bytes of UTF-8 that fit an encoded word of 75 characters.
_WORD_BYTES: Final = 45
_RE: Final = re.compile(
    r"(?:\s*+(?:re|aw|sv|antw|odp|rif|res|vs)\s*+(?:\[\d++\]\s*+)?:)++\s*+", re.I
)
_MAX_SUBJECT: Final = 500
_MIME: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")


class MailFile(msgspec.Struct, frozen=True, kw_only=True):
    """An attached file."""

    name: str
    mime: str
    data: bytes


class MailDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A mail before it is encoded; ids are without brackets."""

    message_id: str
    sender: MailAddress
    sender_name: str
    recipient: MailAddress
    subject: str
    parent: str
    references: tuple[str, ...]
    at: float
    text: str
    page: str
    uploads: tuple[MailFile, ...] = ()
    is_reply: bool = True


def write(draft: MailDraft) -> bytes:
    """Return the mail as it is sent."""
    lines = [
        f"From: {_named(draft.sender_name, draft.sender)}",
        f"To: <{draft.recipient.text}>",
        f"Subject: {header_text(draft.subject, used=len('Subject: '))}",
        f"Date: {formatdate(draft.at, localtime=False)}",
        f"Message-ID: <{draft.message_id}>",
        *([f"In-Reply-To: <{draft.parent}>"] if draft.parent else []),
        *([_references(draft.references)] if draft.references else []),
        f"Auto-Submitted: {'auto-replied' if draft.is_reply else 'auto-generated'}",
        "X-Auto-Response-Suppress: All",
        "MIME-Version: 1.0",
    ]
    head = "\r\n".join(lines).encode("utf-8") + b"\r\n"
    return head + _body(draft)


def reply_subject(subject: str) -> str:
    """Return a subject with "Re: " before it, once."""
    line = one_line(subject)
    before = _RE.match(line)
    bare = line if before is None else line[before.end() :]
    return f"Re: {bare}"[:_MAX_SUBJECT] if bare else "Re: your message"


def one_line(text: str) -> str:
    """Return a text that cannot end a header: on one line, without control characters."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    spaced = " ".join(whole.split())
    return "".join(one for one in spaced if one >= " " and one != "\x7f")[:_MAX_SUBJECT]


def header_text(text: str, *, used: int = 0) -> str:
    """Return words in header form: folded, and encoded unless they are plain ASCII."""
    line = one_line(text)
    if line.isascii() and line.isprintable() and "=?" not in line and _folds(line, used):
        return _folded(line.split(" "), used=used)
    return "\r\n ".join(_encoded_words(line))


def _folds(line: str, used: int) -> bool:
    return all(len(word) < _WIDTH - used for word in line.split(" "))


def _folded(words: Sequence[str], *, used: int) -> str:
    lines: list[str] = []
    line = ""
    for word in words:
        room = _WIDTH - (used if not lines else 1)
        if line and len(line) + 1 + len(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\r\n ".join((*lines, line))


def _encoded_words(text: str) -> list[str]:
    made: list[str] = []
    piece = b""
    for one in text:
        coded = one.encode("utf-8")
        if len(piece) + len(coded) > _WORD_BYTES:
            made.append(_word(piece))
            piece = b""
        piece += coded
    return [*made, _word(piece)] if piece or not made else made


def _word(piece: bytes) -> str:
    return f"=?utf-8?b?{base64.b64encode(piece).decode('ascii')}?="


def _named(name: str, address: MailAddress) -> str:
    shown = one_line(name)
    if not shown:
        return f"<{address.text}>"
    if shown.isascii() and all(one.isalnum() or one in " -_'" for one in shown) and len(shown) < 60:
        return f"{shown} <{address.text}>"
    return "\r\n ".join((*_encoded_words(shown[:200]), f"<{address.text}>"))


def _references(ids: tuple[str, ...]) -> str:
    return "References: " + "\r\n ".join(f"<{one}>" for one in ids)


def _body(draft: MailDraft) -> bytes:
    mark = f"=_{draft.message_id.partition('@')[0].replace('.', '_')[:60]}"
    both = _multipart(
        "alternative",
        f"{mark}_a",
        [_text_part("plain", draft.text), _text_part("html", draft.page)],
    )
    if not draft.uploads:
        return both
    files = [_file_part(upload) for upload in draft.uploads]
    return _multipart("mixed", f"{mark}_m", [both, *files])


def _multipart(kind: str, mark: str, parts: Sequence[bytes]) -> bytes:
    head = f'Content-Type: multipart/{kind};\r\n boundary="{mark}"\r\n\r\n'.encode("ascii")
    line = f"--{mark}".encode("ascii")
    inner = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts)
    return head + inner + line + b"--\r\n"


def _text_part(kind: str, text: str) -> bytes:
    """Return a text part; quoted-printable keeps it readable, and its lines short."""
    data = text.encode("utf-8", "replace").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    coded = quopri.encodestring(data).replace(b"\n", b"\r\n")
    # Some servers change a line that is "From " or a single dot.
    lines = (b"\n" + coded).replace(b"\nFrom ", b"\n=46rom ").replace(b"\n.", b"\n=2E")[1:]
    head = (
        f"Content-Type: text/{kind}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable"
    )
    return head.encode("ascii") + b"\r\n\r\n" + lines


def _file_part(upload: MailFile) -> bytes:
    kind = upload.mime.partition(";")[0].strip().lower()
    # A mail inside a mail, or parts of parts, would be parsed as such; send them as plain bytes.
    is_plain_kind = _MIME.fullmatch(kind) and not kind.startswith(("message/", "multipart/"))
    name = one_line(upload.name)[-120:] or "file"
    is_simple = name.isascii() and all(one.isalnum() or one in "._- " for one in name)
    named = f'filename="{name}"' if is_simple else f"filename*=UTF-8''{quote(name, safe='')}"
    lines = [
        f"Content-Type: {kind if is_plain_kind else 'application/octet-stream'}",
        "Content-Transfer-Encoding: base64",
        f"Content-Disposition: attachment;\r\n {named}",
    ]
    coded = base64.encodebytes(upload.data).replace(b"\n", b"\r\n")
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + coded
