"""A second IMAP connection, for what replies need while the first waits for mail: the sent folder,
and the answered mail. It is opened when needed, and reopened when it was lost.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from hermes.channels.email import mail_text, threads
from hermes.channels.email.imap import Imap
from hermes.channels.email.imap_wire import quoted
from hermes.channels.email.mime import split_head
from hermes.channels.email.outbound import ParentMail
from hermes.channels.email.settings import EmailSettings
from hermes.errors import NetError

_TIMEOUT_S: Final = 15.0
_FIELDS: Final = "HEADER.FIELDS (MESSAGE-ID REFERENCES IN-REPLY-TO SUBJECT)"
_MAX_FIELDS: Final = 64_000
Found = TypeVar("Found")


class MailFolders:
    """Looks up and files mail; every call may raise a `NetError` or a `Refusal`."""

    def __init__(self, settings: EmailSettings) -> None:
        self._settings = settings
        self._imap: Imap | None = None
        self._turn = asyncio.Lock()

    async def file(self, mail: bytes) -> None:
        """Put a mail into the sent folder."""
        await self._with(lambda imap: imap.append(self._settings.sent_folder, mail))

    async def is_sent(self, message_id: str) -> bool:
        """Return whether the sent folder holds a mail with this id."""
        folder = self._settings.sent_folder

        async def look(imap: Imap) -> bool:
            await imap.select(folder, is_read_only=True)
            return bool(await _find(imap, message_id))

        return await self._with(look)

    async def answered(self, message_id: str) -> ParentMail | None:
        """Return what a reply needs to know about the mail that it answers; None if it is gone."""
        return await self._with(lambda imap: self._look_up(imap, message_id))

    async def prove(self) -> None:
        """Return if the server responds."""
        await self._with(lambda imap: imap.noop())

    async def close(self) -> None:
        """End the connection."""
        async with self._turn:
            imap, self._imap = self._imap, None
            if imap is not None:
                await imap.drop()

    async def _look_up(self, imap: Imap, message_id: str) -> ParentMail | None:
        folders = filter(None, (self._settings.done_folder, self._settings.folder))
        for folder in folders:
            await imap.select(folder, is_read_only=True)
            for uid in await _find(imap, message_id):
                raw = await imap.fetch(uid, limit=_MAX_FIELDS, section=_FIELDS)
                if raw is not None:
                    return read_fields(raw)
        return None

    async def _with(self, act: Callable[[Imap], Awaitable[Found]]) -> Found:
        async with self._turn:
            if self._imap is not None:
                try:
                    return await self._do(act, self._imap)
                except NetError:
                    # The server may have closed it after a long silence: try once more on a new
                    # connection.
                    pass
            self._imap = await Imap.open(self._settings.imap, timeout_s=_TIMEOUT_S)
            return await self._do(act, self._imap)

    async def _do(self, act: Callable[[Imap], Awaitable[Found]], imap: Imap) -> Found:
        try:
            return await act(imap)
        except (NetError, asyncio.CancelledError):
            # After a cut in the middle, the next command would read this one's answers.
            await self._forget()
            raise

    async def _forget(self) -> None:
        imap, self._imap = self._imap, None
        if imap is not None:
            await imap.drop()


def read_fields(raw: bytes) -> ParentMail:
    """Return the relevant header fields of a mail."""
    headers, _ = split_head(raw)
    chain = threads.ids_in(headers.first("references")) + threads.ids_in(
        headers.first("in-reply-to")
    )
    return ParentMail(
        subject=mail_text.decode_header(headers.first("subject"))[:500],
        references=threads.trimmed(chain),
    )


async def _find(imap: Imap, message_id: str) -> tuple[int, ...]:
    named = quoted(f"<{message_id}>")
    return await imap.search("HEADER", "Message-ID", named) if named else ()
