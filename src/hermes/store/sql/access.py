"""Credentials: which tokens, links, invitations and browser sessions are valid, by their hashes."""

from typing import Any

from hermes.errors import Conflict, Forbidden, Unauthenticated
from hermes.message.ids import MakeId
from hermes.message.owner import WEB_OWNER
from hermes.ports.access import Credential, LinkKind, Newcomer, NewSession, Role, credential_id
from hermes.store.sql.engine import Engine
from hermes.store.sql.newcomers import find_or_add_person
from hermes.store.sql.places import name_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Result, Tx, Unit

_ACCESS = load("access")
_USERS = load("users")
_CHECKED_KEPT = 1_000
_MOST_INVITED = 1_000
_MOST_SESSIONS = 50
# The kinds that can create another credential.
_MAKERS = ("token", "session")
_WEB = WEB_OWNER[0]


class SqlAccess:
    """Implements `ports.access.AccessStore`."""

    def __init__(self, engine: Engine, *, make_id: MakeId) -> None:
        self._engine = engine
        self._make_id = make_id
        # The results of `find`; every change of a credential or of its person clears it.
        self._known: dict[tuple[str, bytes], Credential] = {}
        for kind in ("access", "blocks", "erasure", "people"):
            engine.feed.on(kind, lambda _key: self._known.clear())

    async def add(
        self,
        kind: str,
        digest: bytes,
        *,
        label: str,
        expires_at: float | None,
        role: Role = "owner",
        parent: bytes | None = None,
        may_delegate: bool = False,
        user: str = "",
    ) -> None:
        """Store a credential's hash; `parent` is the hash of the token or session that made it.

        A link ends with its maker at the latest, a session with the token at the start of its
        chain.
        """
        new = Credential(
            id=credential_id(digest),
            label=label,
            role=role,
            created_at=self._engine.clock.now(),
            expires_at=expires_at,
            digest=digest,
            parent=parent,
            may_delegate=may_delegate,
            user=user,
        )

        async def unit(tx: Tx) -> None:
            await _add(tx, kind, new)

        await self._engine.writer.run("add_credential", self._told(unit), after=self._after)

    async def check(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Return whether a credential is known and not expired."""
        return await self.find(kind, digest, now=now) is not None

    async def find(self, kind: str, digest: bytes, *, now: float) -> Credential | None:
        """Return a credential that is known and not expired."""
        found, stamp = self._known.get((kind, digest)), self._engine.feed.stamp
        if found is None:
            row = await self._engine.reads.row(_ACCESS["find"], kind, digest, now)
            if row is None:
                return None
            if len(self._known) >= _CHECKED_KEPT:
                self._known.clear()
            found = _credential(row)
            if stamp == self._engine.feed.stamp:
                self._known[kind, digest] = found
        expires_at = found.expires_at
        return found if expires_at is None or expires_at > now else None

    async def use_link(self, kind: LinkKind, link: bytes, session: NewSession) -> bool:
        """Use up a sign-in link or an invitation and store its session: both, or neither."""
        # Anybody can try codes: one that is unknown costs no write.
        if await self._engine.reads.row(_ACCESS["unused"], kind, link, session.now) is None:
            return False

        async def unit(tx: Tx) -> bool:
            row = await tx.row(_ACCESS["unused"], kind, link, session.now)
            if row is None:
                return False
            used = _credential(row)
            await _refuse_blocked(tx, used.user, role=used.role)
            tx.put(_ACCESS["use_once"], kind, link, session.now)
            await _begin(tx, _session(session, user=used.user, like=used))
            return True

        return await self._engine.writer.run("use_credential", self._told(unit), after=self._after)

    async def invite(
        self, digest: bytes, who: Newcomer, *, role: Role, at: float, expires_at: float
    ) -> Credential:
        """Store an invitation, and let its person into the web chat."""
        new = Credential(
            id=credential_id(digest),
            label=who.name or who.user,
            role=role,
            created_at=at,
            expires_at=expires_at,
            digest=digest,
            user=who.user,
        )

        async def unit(tx: Tx) -> Credential:
            await _trim(tx, at)
            open_now = await tx.rows(_ACCESS["invited"])
            if int(open_now[0][0]) >= _MOST_INVITED:
                raise Conflict(
                    f"{_MOST_INVITED:,} invitations are open: withdraw some of them first "
                    "(`hermes invites list`)."
                )
            await self._let_in(tx, who, at=at)
            await _add(tx, "invite", new)
            return new

        return await self._engine.writer.run("invite", self._told(unit), after=self._after_people)

    async def withdraw(self, invitation: str) -> bool:
        """End an invitation by its id; False if there is none."""

        async def unit(tx: Tx) -> bool:
            ended = [
                one for one in await _digests(tx, "invite") if credential_id(one) == invitation
            ]
            for digest in ended:
                tx.put(_ACCESS["drop"], "invite", digest)
            return bool(ended)

        return await self._engine.writer.run("withdraw", self._told(unit), after=self._after)

    async def admit(self, who: Newcomer, session: NewSession) -> None:
        """Store a session of a person whom somebody else has identified."""

        async def unit(tx: Tx) -> None:
            await self._let_in(tx, who, at=session.now)
            await _begin(tx, _session(session, user=who.user))

        await self._engine.writer.run("admit", self._told(unit), after=self._after_people)

    async def sessions_of(self, user: str) -> tuple[Credential, ...]:
        """Return the browser sessions of a person of the web chat, newest first."""
        rows = await self._engine.reads.rows(_ACCESS["sessions_of"], user)
        return tuple(_credential(row) for row in rows)

    async def name_of(self, user: str) -> str:
        """Return the name of a person of the web chat; empty if none is known."""
        row = await self._engine.reads.row(_ACCESS["name"], user)
        if row is None or row[1] is None:
            return ""
        place, reads = name_place(_WEB, user), self._engine.reads
        content = await self._engine.sealer.open(reads, str(row[0]), row[1], place=place)
        return "" if content is None else content.decode(errors="replace")

    async def end_sessions_of(self, user: str, *, only: str = "", keep: str = "") -> int:
        """End a person's own sessions and say how many: one by its id, or all but one."""

        async def unit(tx: Tx) -> int:
            own = [bytes(row[0]) for row in await tx.rows(_ACCESS["sessions_of"], user)]
            named = {one: credential_id(one) for one in own}
            ended = [one for one in own if only in ("", named[one]) and named[one] != keep]
            for digest in ended:
                await _end_session(tx, digest)
            return len(ended)

        return await self._engine.writer.run("end_sessions", self._told(unit), after=self._after)

    async def _let_in(self, tx: Tx, who: Newcomer, *, at: float) -> None:
        """Make the person of a user of the web chat if they are unknown, and let them in."""
        await _refuse_blocked(tx, who.user)
        await find_or_add_person(
            tx,
            _WEB,
            who.user,
            sealer=self._engine.sealer,
            make_id=self._make_id,
            at=at,
            name=who.name or None,
        )
        tx.put(_USERS["activate"], _WEB, who.user, "operator", at)
        self._engine.feed.put(tx, "people")

    def _after_people(self, result: object) -> None:
        self._after(result)
        self._engine.feed.tell("people")

    async def list(self, kind: str) -> tuple[Credential, ...]:
        """Return every credential of a kind, newest first."""
        return tuple(
            _credential(row) for row in await self._engine.reads.rows(_ACCESS["list"], kind)
        )

    async def revoke(self, credential: str) -> bool:
        """Revoke a token or session by its id, and every link and session made from it."""

        async def unit(tx: Tx) -> bool:
            ended = [
                digest
                for kind in _MAKERS
                for digest in await _digests(tx, kind)
                if credential_id(digest) == credential
            ]
            for digest in ended:
                tx.put(_ACCESS["revoke"], digest)
            return bool(ended)

        return await self._engine.writer.run(
            "revoke_credential", self._told(unit), after=self._after
        )

    async def revoke_all(self, kind: str, *, keep: str = "") -> int:
        """Revoke every credential of a kind, with what was made from it; return how many."""

        async def unit(tx: Tx) -> int:
            known = await _digests(tx, kind)
            ended = [digest for digest in known if credential_id(digest) != keep]
            for digest in set(known) - set(ended):
                # Its maker may end here: it then belongs to the token at the start, if there is
                # one.
                root = await tx.row(_ACCESS["root"], digest)
                tx.put(_ACCESS["move"], digest, None if root is None else root[0])
            for digest in ended:
                tx.put(_ACCESS["revoke"], digest)
            return len(ended)

        return await self._engine.writer.run(
            "revoke_credentials", self._told(unit), after=self._after
        )

    async def sign_out(self, digest: bytes) -> bool:
        """End one session and its unused links; sessions made from it stay."""

        async def unit(tx: Tx) -> bool:
            return await _end_session(tx, digest)

        return await self._engine.writer.run("sign_out", self._told(unit), after=self._after)

    async def touch(self, kind: str, digest: bytes, *, at: float) -> None:
        """Record when a credential was last used."""

        async def unit(tx: Tx) -> None:
            tx.put(_ACCESS["touch"], kind, digest, at)

        # Other nodes need not hear of it: it changes nothing that they decide by.
        await self._engine.writer.run("touch_credential", unit, after=self._after)

    def _told(self, unit: Unit[Result]) -> Unit[Result]:
        """Return a unit that changes credentials, with the row by which other nodes hear of it."""

        async def told(tx: Tx) -> Result:
            self._engine.feed.put(tx, "access")
            return await unit(tx)

        return told

    def _after(self, _result: object) -> None:
        self._engine.feed.tell("access")

    async def any(self, kind: str) -> bool:
        """Return whether a credential of this kind exists."""
        return await self._engine.reads.row(_ACCESS["any"], kind) is not None


async def _add(tx: Tx, kind: str, new: Credential) -> None:
    """Add a credential that ends with its makers at the latest; raises `Unauthenticated`."""
    # Read in the same transaction: a token that is being revoked cannot sign in.
    now, parent = new.created_at, new.parent
    limits = () if parent is None else await _ends_of_makers(tx, kind, parent=parent, now=now)
    known = [one for one in (new.expires_at, *limits) if one is not None]
    ends_at = min(known, default=None)
    await _trim(tx, now)
    given = (kind, new.digest, new.label, now, ends_at, new.role, parent, new.may_delegate)
    tx.put(_ACCESS["add"], *given, new.user)


def end_sign_ins(tx: Tx, person_id: str) -> None:
    """End the browser sessions and invitations of a person who is blocked, inside that transaction."""
    tx.put(_ACCESS["end_of_person"], person_id)


def forget_sign_ins(tx: Tx, person_id: str) -> None:
    """Delete all sign-ins of an erased person, inside that transaction, before their channels."""
    tx.put(_ACCESS["forget_person"], person_id)


async def _refuse_blocked(tx: Tx, user: str, *, role: Role = "person") -> None:
    """Raise `Forbidden` if a person of the web chat is blocked; the owner cannot be kept out."""
    if role != "owner" and await tx.row(_ACCESS["is_blocked"], user) is not None:
        raise Forbidden(
            f"{_WEB}:{user} is blocked: `hermes users activate {_WEB}:{user}` ends that."
        )


def _session(session: NewSession, *, user: str, like: Credential | None = None) -> Credential:
    """Return a new session; it belongs to whoever made the link that it is `like`."""
    return Credential(
        id=credential_id(session.digest),
        label=session.label,
        role="person" if like is None else like.role,
        created_at=session.now,
        expires_at=session.expires_at,
        digest=session.digest,
        parent=None if like is None else like.parent,
        user=user,
    )


async def _begin(tx: Tx, session: Credential) -> None:
    """Add a session; of too many of one person the oldest end. The owner's end with their makers."""
    if session.role != "owner":
        own = await tx.rows(_ACCESS["sessions_of"], session.user)
        for row in own[_MOST_SESSIONS - 1 :]:
            await _end_session(tx, bytes(row[0]))
    await _add(tx, "session", session)


async def _digests(tx: Tx, kind: str) -> list[bytes]:
    return [bytes(row[0]) for row in await tx.rows(_ACCESS["list"], kind)]


async def _ends_of_makers(
    tx: Tx, kind: str, *, parent: bytes, now: float
) -> tuple[float | None, ...]:
    """Return the expiry times that a new credential may not exceed; raises `Unauthenticated`."""
    maker = await tx.row(_ACCESS["maker"], parent, now)
    if maker is None:
        raise Unauthenticated("The token or session that asks for this has ended.")
    if kind == "signin":
        return (maker[0],)
    root = await tx.row(_ACCESS["root"], parent)
    return () if root is None or kind != "session" else (root[1],)


async def _trim(tx: Tx, now: float) -> None:
    """Delete what has ended; sessions made by an expired session pass to its maker."""
    for row in await tx.rows(_ACCESS["expired_sessions"], now):
        await _end_session(tx, bytes(row[0]))
    tx.put(_ACCESS["trim"], now)


async def _end_session(tx: Tx, digest: bytes) -> bool:
    """End one session and its unused links; the sessions it made pass to its maker."""
    tx.put(_ACCESS["drop_links_of"], digest)
    tx.put(_ACCESS["hand_on"], digest)
    return await tx.changed(_ACCESS["drop"], "session", digest) == 1


# Any: SQLite's values, in the order of the columns that `find` and `list` name.
def _credential(row: tuple[Any, ...]) -> Credential:
    return Credential(
        id=credential_id(row[0]),
        label=row[1],
        role=row[2],
        created_at=row[3],
        expires_at=row[4],
        token="" if row[5] is None else credential_id(row[5]),
        seen_at=row[6],
        may_delegate=bool(row[7]),
        user=row[8],
        digest=bytes(row[0]),
        parent=None if row[5] is None else bytes(row[5]),
    )
