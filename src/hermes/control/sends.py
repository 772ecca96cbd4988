"""Messages that an operator sends to a chat, and the directory of chats that they can be sent to."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

import msgspec
import structlog

from hermes.errors import BadRequest
from hermes.message.ids import MakeId
from hermes.message.parts import Part
from hermes.message.session_key import is_direct
from hermes.ports.channel import Target
from hermes.ports.clock import Clock
from hermes.ports.directory import ChatEntry
from hermes.ports.media import MediaOwner
from hermes.ports.sends import Courier, FoundTarget, Parcel
from hermes.ports.store import Store

_log = structlog.get_logger(__name__)
_MOST_CHARS = 200_000
_MOST_FILES = 10
# The platform under which whoever sends by the command line is a person: what they write is sealed.
OPERATOR = "operator"
SendState = Literal["waiting", "shown", "written", "sent", "unknown", "failed"]


class SendOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message that was sent at once; `problem` says why it is not `sent`."""

    state: SendState
    problem: str = ""


DeliverNow = Callable[[str, Target], Awaitable[SendOutcome]]
# Moves a file that was kept in the home, named by `path` and `name`, to the message that sends it.
AdoptFile = Callable[[Mapping[str, str], MediaOwner], Awaitable[Part]]


class SendOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message, and where it goes: `local`, PLATFORM or PLATFORM:CHAT[:THREAD]; by whom.

    `files` were kept in the media folder of the home before. `later` leaves it to the next gateway if
    none runs.
    """

    to: str
    text: str
    by: str = ""
    files: tuple[dict[str, str], ...] = ()
    later: bool = False


class SendReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of it: it waits to be sent, stands in the conversation, or is the file `where`.

    Without a gateway it is sent at once: it is then `sent`, may have arrived (`unknown`), was refused
    for good (`failed`), or waits; `problem` says why. `sessions` are the conversations that are told what was said in their chat.
    """

    id: str
    to: str
    state: SendState
    sessions: tuple[str, ...] = ()
    where: str = ""
    problem: str = ""


class DirectoryAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which platform's chats; without one all."""

    platform: str = ""


class DirectoryReport(msgspec.Struct, frozen=True, kw_only=True):
    """The chats that are known by name."""

    chats: tuple[ChatEntry, ...] = ()


class SendOperations:
    """Where operators' messages arrive; `courier` finds every chat for them.

    `deliver` sends at once where no gateway does.
    """

    def __init__(
        self,
        store: Store,
        courier: Courier,
        *,
        agents: Sequence[str],
        pushed: Sequence[str],
        clock: Clock,
        make_id: MakeId,
        deliver: DeliverNow | None = None,
        adopt: AdoptFile | None = None,
    ) -> None:
        self._deliver = deliver
        self._adopt = adopt
        self._store = store
        self._courier = courier
        self._agents = agents
        self._pushed = pushed
        self._clock = clock
        self._make_id = make_id

    async def send(self, order: SendOrder) -> SendReport:
        """Put a message down to be sent; it is on disk when this returns."""
        if not order.text.strip() and not order.files:
            raise BadRequest("There is nothing to send: the text is empty.")
        if len(order.files) > _MOST_FILES:
            raise BadRequest(f"There are {len(order.files)} files: expected at most {_MOST_FILES}.")
        if len(order.text) > _MOST_CHARS:
            raise BadRequest(
                f"The text has {len(order.text):,} characters: expected at most {_MOST_CHARS:,}."
            )
        place = await self._courier.find(order.to, message_id="", person_id="")
        if order.files and place.target is None:
            raise BadRequest("local is a file of text: name a chat to send files to.")
        parcel_id = self._make_id("o")
        person_id = await self._owner(place, by=order.by)
        parcel = Parcel(
            id=parcel_id,
            message_id=parcel_id,
            person_id=person_id,
            text=order.text,
            purpose="notice",
            files=await self._files(order, MediaOwner(person_id, parcel_id)),
        )
        sent = await self._courier.send(parcel, place)
        _log.info("operator_sent", delivery_id=parcel_id, by=order.by)
        outcome = SendOutcome(state=self._state(place))
        waits = outcome.state == "waiting" and not order.later
        if waits and self._deliver is not None and place.target is not None:
            outcome = await self._deliver(parcel_id, place.target)
        return SendReport(
            id=parcel_id,
            to=place.name,
            state=outcome.state,
            sessions=place.sessions,
            where=sent.where,
            problem=outcome.problem,
        )

    async def directory(self, ask: DirectoryAsk) -> DirectoryReport:
        """Return the chats that are known by name."""
        return DirectoryReport(chats=await self._store.directory.chats(ask.platform or None))

    async def _files(self, order: SendOrder, owner: MediaOwner) -> tuple[Part, ...]:
        if order.files and self._adopt is None:
            raise BadRequest("Files cannot be sent here.")
        return tuple([await self._adopt(one, owner) for one in order.files if self._adopt])

    def _state(self, place: FoundTarget) -> SendState:
        if place.target is None:
            return "written"
        return "waiting" if place.target.platform in self._pushed else "shown"

    async def _owner(self, place: FoundTarget, *, by: str) -> str:
        """Return whose key seals it: whose direct chat it is, otherwise who sends it."""
        target = place.target
        if target is None:
            return ""
        if place.opens is not None:
            return place.opens.person_id
        known = await self._store.sends.sessions(
            target.platform, target.chat_id, thread_id=target.thread_id, agents=self._agents
        )
        theirs = [one.person_id for one in known if is_direct(one.lane)]
        if theirs:
            return theirs[0]
        name = by or OPERATOR
        person = await self._store.people.find(OPERATOR, name)
        if person is not None:
            return person.id
        return await self._store.users.add(OPERATOR, name, name=None, at=self._clock.now())
