"""The mail channel: IMAP in, SMTP out.

Fits `PushChannel`, `LiveChannel` and `ProbingChannel`. It verifies and translates; the outbox
handles order, rate and retries.
"""

import asyncio
from typing import Any, Final

import msgspec
import structlog

from hermes.channel_kit.attachments import read_attachment
from hermes.channels.email import compose, outbound
from hermes.channels.email import memory as mailbox_memory
from hermes.channels.email import settings as email_settings
from hermes.channels.email.answer_rate import AnswerRate
from hermes.channels.email.compose import MailFile
from hermes.channels.email.folders import MailFolders
from hermes.channels.email.imap import Imap, ImapRefusal
from hermes.channels.email.inbound import MailReadRules, message_id_of
from hermes.channels.email.intake import MailIntake
from hermes.channels.email.mailbox import Mailbox
from hermes.channels.email.outbound import ParentMail
from hermes.channels.email.smtp import Smtp, SmtpFailed
from hermes.errors import (
    ConfigurationError,
    DeliveryRejected,
    FailureClass,
    HermesError,
    NetError,
    NotDelivered,
)
from hermes.message.parts import Part, text_of
from hermes.ports.channel import Accept, Capabilities, Delivery, Receipt, Target
from hermes.ports.channel_setup import ChannelSetup

log = structlog.get_logger(__name__)

_TIMEOUT_S: Final = 20.0
# Filing a copy in the sent folder must not delay what was sent.
_FILING_S: Final = 10.0
# Nor may looking up the answered mail delay the answer.
_LOOKING_S: Final = 10.0
_GRACE_S: Final = 60.0


class EmailChannel:
    """One mailbox."""

    def __init__(self, settings: email_settings.EmailSettings, setup: ChannelSetup) -> None:
        self.name = setup.name
        self._settings = settings
        self._setup = setup
        self._capabilities = msgspec.structs.replace(
            setup.capabilities,
            history=bool(settings.sent_folder),
            # Our own copy is filed after the send: after a crash in between there is none.
            history_whole=settings.sent_by == "server",
        )
        self._answer_rate = AnswerRate(settings.replies_per_hour, setup.clock)
        self._folders = MailFolders(settings)
        self._imap: Imap | None = None
        self._intake: MailIntake | None = None
        self._mailbox: Mailbox | None = None
        self._watching: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._why: HermesError | None = None

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities from the manifest, plus those that the sent folder adds."""
        return self._capabilities

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once both servers have accepted the sign-in and the folder is
        open.
        """
        self._ended, self._why = asyncio.Event(), None
        settings, setup = self._settings, self._setup
        await self._prove_smtp()
        imap = self._imap = await self._open()
        begun = await mailbox_memory.begun(
            setup.state, now=setup.clock.now(), age_s=settings.first_age_s
        )
        reading = MailReadRules(own=settings.address, authserv_id=settings.authserv_id)
        self._intake = MailIntake(
            accept,
            reading=reading,
            setup=setup,
            answer_rate=self._answer_rate,
            read_s=settings.read_s,
        )
        self._mailbox = Mailbox(
            imap, self._intake, settings=settings, begun=begun, clock=setup.clock
        )
        if settings.authserv_id is None:
            log.warning(
                "email.nobody_checks_senders", setting="platforms.email.trust", value="none"
            )
        log.info("email.connected", folder=settings.folder, idle="IDLE" in imap.abilities)
        self._watching = asyncio.create_task(self._watch(self._mailbox), name="email folder")

    async def disconnect(self) -> None:
        """Stop receiving; mail that was not accepted stays unread on the server."""
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        imap, self._imap = self._imap, None
        if imap is not None:
            await imap.drop()
        await self._folders.close()
        self._mailbox = None

    async def lost(self) -> None:
        """Wait until receiving has ended; raise why."""
        await self._ended.wait()
        raise self._why or NotDelivered(
            "email: the folder is no longer watched", FailureClass.SERVICE_UNAVAILABLE
        )

    async def probe(self) -> None:
        """Return if the server responds and the folder was checked lately."""
        try:
            await self._folders.prove()
        except ImapRefusal as error:
            raise _judged(error) from None
        mailbox = self._mailbox
        if mailbox is None or mailbox.silent_s > mailbox.longest_silence_s + _GRACE_S:
            silent_s = 0.0 if mailbox is None else mailbox.silent_s
            raise NotDelivered(
                f"email: no IMAP response for {silent_s:.0f} s; no mail is received",
                FailureClass.SERVICE_UNAVAILABLE,
            )

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one mail; raises a `DeliveryError` subclass that says what is known."""
        recipient = outbound.recipient_of(delivery.target)
        attached = [part for part in delivery.parts if outbound.media_of(part) is not None]
        uploads, missing = await self._load_all(attached, delivery)
        draft = outbound.draft_of(
            outbound.with_missing_files(delivery, missing, uploads=uploads),
            own=self._settings.address,
            name=self._settings.name,
            answered=await self._answered(delivery.target),
            uploads=uploads,
            at=self._setup.clock.now(),
        )
        mail = compose.write(draft)
        await self._submit(recipient.text, mail)
        await self._file(mail)
        return Receipt(draft.message_id)

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look in the sent folder for the mail of a delivery."""
        message_id = outbound.id_for(target, key, domain=self._settings.address.domain)
        try:
            is_there = await self._folders.is_sent(message_id)
        except (NetError, ImapRefusal) as error:
            raise NotDelivered(
                f"email: the sent folder cannot be looked at: {error}",
                FailureClass.SERVICE_UNAVAILABLE,
            ) from None
        return Receipt(message_id) if is_there else None

    async def _open(self) -> Imap:
        try:
            imap = await Imap.open(self._settings.imap, timeout_s=_TIMEOUT_S)
        except ImapRefusal as error:
            raise _judged(error) from None
        try:
            await imap.select(self._settings.folder)
        except ImapRefusal as error:
            await imap.drop()
            raise ConfigurationError(
                f"platforms.email.folder: {self._settings.folder!r} cannot be opened: {error}"
            ) from None
        if self._settings.done_folder and "MOVE" not in imap.abilities:
            await imap.drop()
            raise ConfigurationError(
                "platforms.email.done_folder: the IMAP server cannot move mail (no MOVE); leave the "
                "setting empty, and mail is marked as read instead"
            )
        return imap

    async def _prove_smtp(self) -> None:
        try:
            smtp = await Smtp.open(self._settings.smtp, timeout_s=_TIMEOUT_S)
        except SmtpFailed as error:
            if outbound.is_wrong_password(error):
                raise outbound.wrong_password("SMTP", str(error)) from None
            raise outbound.delivery_error(error) from None
        await smtp.close()

    async def _watch(self, mailbox: Mailbox) -> None:
        try:
            await mailbox.run()
        except HermesError as error:
            self._end(error)
        except ImapRefusal as error:
            self._end(NotDelivered(f"email: {error}", FailureClass.SERVICE_UNAVAILABLE))
        # Boundary: the folder's own task; without this, a stopped mailbox would go unnoticed.
        except Exception as error:
            log.exception("email.watch_failed")
            self._end(
                NotDelivered(
                    f"email: watching the folder failed ({type(error).__name__})",
                    FailureClass.SERVICE_UNAVAILABLE,
                )
            )

    def _end(self, why: HermesError) -> None:
        if self._why is None:
            self._why = why
        self._ended.set()

    async def _submit(self, recipient: str, mail: bytes) -> None:
        try:
            smtp = await Smtp.open(self._settings.smtp, timeout_s=_TIMEOUT_S)
            try:
                await smtp.submit(self._settings.address.text, recipient, mail)
            except (SmtpFailed, asyncio.CancelledError):
                await smtp.drop()
                raise
        except SmtpFailed as error:
            if outbound.is_wrong_password(error):
                self._end(outbound.wrong_password("SMTP", str(error)))
            raise outbound.delivery_error(error) from None
        await smtp.close()

    async def _answered(self, target: Target) -> ParentMail:
        """Return what is known about the answered mail, from memory or from its folder."""
        message_id = message_id_of(target.reply_to)
        if not message_id:
            return ParentMail()
        known = None if self._intake is None else self._intake.answered(message_id)
        if known is not None:
            return known
        try:
            async with asyncio.timeout(_LOOKING_S):
                return await self._folders.answered(message_id) or ParentMail()
        except (NetError, ImapRefusal, TimeoutError) as error:
            # The answer matters more than its subject.
            log.info("email.original_not_found", problem=str(error))
            return ParentMail()

    async def _file(self, mail: bytes) -> None:
        """File a copy of the sent mail; if that fails, the mail was sent all the same."""
        if not self._settings.sent_folder or self._settings.sent_by == "server":
            return
        try:
            async with asyncio.timeout(_FILING_S):
                await self._folders.file(mail)
        except (NetError, ImapRefusal, TimeoutError) as error:
            log.warning(
                "email.copy_not_filed", folder=self._settings.sent_folder, problem=str(error)
            )

    async def _load_all(
        self, attached: list[Part], delivery: Delivery
    ) -> tuple[tuple[MailFile, ...], tuple[str, ...]]:
        """Return the attachments, and the names of those that cannot be read; the text is sent
        without them.
        """
        uploads: list[MailFile] = []
        missing: list[str] = []
        for part in attached:
            try:
                uploads.append(await self._load(part))
            except DeliveryRejected as error:
                if not text_of(delivery.parts):
                    raise
                log.warning("email.not_attached", delivery=delivery.id, problem=str(error))
                missing.append(outbound.name_of(part))
        return tuple(uploads), tuple(missing)

    async def _load(self, part: Part) -> MailFile:
        media: Any = outbound.media_of(part)  # Any: `send` has picked the parts that have one
        limit = self._capabilities.media_bytes
        data = await read_attachment(self._setup.media, media, limit=limit, platform="email")
        return MailFile(name=outbound.name_of(part), mime=media.mime, data=data)


def _judged(error: ImapRefusal) -> HermesError:
    """Return what a refused sign-in means: a temporary failure if the server says so, else the
    password.
    """
    if error.status.code in {"UNAVAILABLE", "INUSE", "LIMIT", "SERVERBUG", "CONTACTADMIN"}:
        return NotDelivered(f"email: {error}", FailureClass.SERVICE_UNAVAILABLE)
    return outbound.wrong_password("IMAP", error.status.text or error.status.word)


def make(setup: ChannelSetup) -> EmailChannel:
    """Return the channel of one mailbox."""
    table = {**setup.settings, "ipv4_only": setup.ipv4_only}
    table["ca_file"] = table["ca_file"] or setup.ca_bundle
    return EmailChannel(email_settings.read(table), setup)
