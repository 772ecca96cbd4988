"""Tells the admins of a gateway that somebody waits with a pairing code, so that a press lets them in.

Only in direct chats that an admin has with the bot, and only if the settings say so. The notice is a
delivery of its own, written once for each admin and request.
"""

from collections.abc import Callable, Iterator

import structlog

from hermes.config import Settings
from hermes.errors import StorageFull, StoreError
from hermes.message.channel_name import platform_of
from hermes.message.outcome import DeliveryState
from hermes.message.session_key import read_session_key
from hermes.message.source import Source
from hermes.people.slash_access import may_let_in
from hermes.pipeline.choice_offers import OfferServices, OfferTerms, Option, offer_answers
from hermes.pipeline.reader_language import language_for
from hermes.pipeline.targets import reply_id
from hermes.ports.channel import Target
from hermes.ports.sends import KnownSession, NewSend
from hermes.ports.store import Store
from hermes.texts.say import say, speaking

_MOST_ADMINS = 10
_DIRECT_CHATS = 20
_log = structlog.get_logger(__name__)


class PairingNotices:
    """Writes the notices."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        offers: OfferServices,
        first_state: Callable[[str], DeliveryState],
        wake: Callable[[str], None],
    ) -> None:
        self._store = store
        self._settings = settings
        self._offers = offers
        self._first_state = first_state
        self._wake = wake

    async def tell(self, source: Source, code: str, message_id: str) -> None:
        """Tell every admin who has a direct chat; who asks is answered all the same if that fails."""
        if not self._settings.access.pairing.tell_admins:
            return
        for number, (platform, user_id) in enumerate(self._admins()):
            try:
                chat = await self._chat_of(platform, user_id, about=source.sender[0])
                if chat is not None:
                    language = await language_for(
                        chat.person_id, None, store=self._store, settings=self._settings
                    )
                    with speaking(language):
                        notice = self._notice(
                            source, code, chat, admin=f"{platform_of(platform)}:{user_id}"
                        )
                    named = f"{reply_id(message_id)}_p{number}"
                    await self._put(notice(named, message_id))
            except (StoreError, StorageFull) as error:
                _log.warning("admin_not_told", platform=platform, problem=str(error))

    def _admins(self) -> Iterator[tuple[str, str]]:
        """Yield the admins of direct chats on platforms to which Hermes sends."""
        count = 0
        for platform, rules in self._settings.access.platforms.items():
            if self._first_state(platform) is not DeliveryState.PENDING:
                continue
            for user_id in rules.commands.dm.admins:
                if count < _MOST_ADMINS:
                    yield platform, user_id
                count += 1

    async def _chat_of(self, platform: str, user_id: str, *, about: str) -> KnownSession | None:
        """Return the direct chat of an admin who may let people in on the platform it is about."""
        person = await self._store.people.find(platform_of(platform), user_id)
        user = None if person is None else await self._store.users.get(person.id)
        if person is None or user is None:
            return None
        if not may_let_in(user, platform_of(about), self._settings.access):
            return None
        chats = await self._store.sends.direct_chats(person.id, limit=_DIRECT_CHATS)
        return next((one for one in chats if read_session_key(one.lane).platform == platform), None)

    def _notice(
        self, source: Source, code: str, chat: KnownSession, *, admin: str
    ) -> Callable[[str, str], NewSend]:
        key = read_session_key(chat.lane)
        who, platform = source.sender_name, source.sender[0]
        name = " ".join((source.user_name or say("Somebody")).split())[:80]
        question = say(
            "{name} ({who}) wants to be let in, with the code {code}. Ask them for their code if "
            "you are not sure who they are. Answer /pair {platform} {code} or /pair deny {who}.",
            name=name,
            who=who,
            code=code,
            platform=platform,
        )
        options = (
            Option(say("Let in"), f"/pair {platform} {code}", "good"),
            Option(say("Refuse"), f"/pair deny {who}", "bad"),
        )
        terms = OfferTerms(
            platform=key.platform,
            lane=chat.lane,
            who=admin,
            valid_s=self._settings.access.pairing.valid_s,
        )
        shown = offer_answers(question, options, terms=terms, services=self._offers)

        def send(send_id: str, message_id: str) -> NewSend:
            return NewSend(
                id=send_id,
                message_id=message_id,
                person_id=chat.person_id,
                target=Target(platform=key.platform, account=chat.account, chat_id=key.chat_id),
                parts=shown.parts,
                state=DeliveryState.PENDING,
                at=self._offers.clock.now(),
                purpose="notice",
                offer=shown.offer,
            )

        return send

    async def _put(self, send: NewSend) -> None:
        if await self._store.sends.put(send, kept=lambda _: None):
            self._wake(send.target.platform)
