"""Invitations to the web chat: made, listed and withdrawn by the owner.

An invitation belongs to a person, has a role, works once and expires. Its code has 80 random bits and
is kept only as its SHA-256. It does not end with the credential that made it; the audit log says which
that was.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from hermes.control.tokens import token_digest
from hermes.errors import BadRequest, NotFound
from hermes.message.owner import WEB_OWNER
from hermes.message.short_ids import find_short
from hermes.people.pairing import LETTERS
from hermes.ports.access import AccessStore, Credential, InvitedRole, Newcomer, Role
from hermes.ports.clock import Clock
from hermes.ports.request_numbers import Quantity

_log = structlog.get_logger(__name__)
RandomBytes = Callable[[int], bytes]
_CODE_LETTERS: Final = 16
_GROUP: Final = 4
_LIFETIME_S: Final = 7 * 86_400.0
_LONGEST_LIFE_S: Final = 90 * 86_400.0
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class NewInvitation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whom the owner invites, as what, and for how long the invitation is good; a week by default."""

    name: str
    role: InvitedRole = "person"
    lifetime_s: Quantity | None = None
    by: str = ""


class InvitationLine(msgspec.Struct, frozen=True, kw_only=True):
    """An open invitation without its code; `user` is the id of its person in the web chat."""

    id: str
    user: str
    role: Role
    created_at: float
    expires_at: float | None


class MadeInvitation(msgspec.Struct, frozen=True, kw_only=True):
    """A new invitation with its code and link, which nobody can read again."""

    code: str
    link: str
    invitation: InvitationLine


class InvitationsReport(msgspec.Struct, frozen=True, kw_only=True):
    """The invitations that can still be used, the newest first."""

    invitations: tuple[InvitationLine, ...] = ()


class InvitationEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to withdraw an invitation, by its id or a part of it."""

    id: str
    by: str = ""


class InvitationOperations:
    """Where the owner's orders about invitations arrive; `address` is where people reach the gateway."""

    def __init__(
        self, access: AccessStore, *, clock: Clock, random_bytes: RandomBytes, address: str
    ) -> None:
        self._access = access
        self._clock = clock
        self._random_bytes = random_bytes
        self._address = address

    async def create(self, new: NewInvitation) -> MadeInvitation:
        """Invite a person into the web chat; the code and the link are shown only now."""
        lifetime_s = _lifetime(new)
        now, code = self._clock.now(), self._code()
        kept = await self._access.invite(
            token_digest(code),
            Newcomer(user=_user(new.name)),
            role=new.role,
            at=now,
            expires_at=now + lifetime_s,
        )
        _log.info("invited", invitation=kept.id, role=kept.role, by=new.by)
        shown = "-".join(code[at : at + _GROUP] for at in range(0, _CODE_LETTERS, _GROUP))
        link = f"{self._address}/signin?code={shown}"
        return MadeInvitation(code=shown, link=link, invitation=_line(kept))

    async def list(self) -> InvitationsReport:
        """Return the invitations that can still be used."""
        return InvitationsReport(invitations=tuple(map(_line, await self._open())))

    async def withdraw(self, end: InvitationEnd) -> InvitationLine:
        """End an invitation that nobody has used."""
        known = await self._open()
        found = find_short(end.id, {one.id: one for one in known}, label=_label)
        if found is None or not await self._access.withdraw(found.id):
            raise NotFound(
                f"No open invitation is known as {end.id[:40]!r}: it may have been used or have "
                "expired. `hermes invites list` shows those that are open."
            )
        _log.info("invitation_withdrawn", invitation=found.id, by=end.by)
        return _line(found)

    async def _open(self) -> tuple[Credential, ...]:
        now = self._clock.now()
        return tuple(
            one
            for one in await self._access.list("invite")
            if one.expires_at is None or one.expires_at > now
        )

    def _code(self) -> str:
        # 32 letters: every byte has five bits of a letter, all equally likely.
        return "".join(LETTERS[one % len(LETTERS)] for one in self._random_bytes(_CODE_LETTERS))


def _user(name: str) -> str:
    """Return the id of the person in the web chat; raise `BadRequest` for a name that cannot be one."""
    user = name.strip().lower().removeprefix(f"{WEB_OWNER[0]}:")
    if user == WEB_OWNER[1]:
        raise BadRequest(
            "'owner' is the owner of this gateway, who is not invited: `hermes link` prints a link."
        )
    if not _NAME.fullmatch(user):
        raise BadRequest(
            f"{name[:80]!r} cannot be a name in the web chat: use 1 to 64 small letters, digits, "
            "'.', '_' and '-', such as ann or j.doe."
        )
    return user


def _lifetime(new: NewInvitation) -> float:
    lifetime_s = _LIFETIME_S if new.lifetime_s is None else float(new.lifetime_s)
    if not 60 <= lifetime_s <= _LONGEST_LIFE_S:
        raise BadRequest(
            f"The invitation is to last {lifetime_s:g} s: expected a minute to 90 days."
        )
    return lifetime_s


def _line(one: Credential) -> InvitationLine:
    return InvitationLine(
        id=one.id,
        user=one.user,
        role=one.role,
        created_at=one.created_at,
        expires_at=one.expires_at,
    )


def _label(one: Credential) -> str:
    return f"{one.id} ({one.user})"
