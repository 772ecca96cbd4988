"""People and credentials: who is who, what they may spend, and which hashes are valid."""

from typing import Any

from hermes.errors import GuardFailed, Unauthenticated
from hermes.message.channel_name import platform_of
from hermes.ports.access import Credential, Role, credential_id
from hermes.ports.people import Person
from hermes.store.sql.answers import drop_answers
from hermes.store.sql.compactions import forget_summaries
from hermes.store.sql.cron import forget_cron
from hermes.store.sql.directory import forget_chats
from hermes.store.sql.engine import Engine
from hermes.store.sql.facts import erase_memory
from hermes.store.sql.group_context import forget_overheard
from hermes.store.sql.hidden_ids import HidingState, hide_person, names_somebody
from hermes.store.sql.ids import SqlIds
from hermes.store.sql.offers import forget_reactions
from hermes.store.sql.queries import load
from hermes.store.sql.responses import erase_responses
from hermes.store.sql.tasks import erase_pushes
from hermes.store.sql.tx import Result, Tx, Unit
from hermes.store.sql.users import forget_codes
from hermes.store.sql.wallet import forget_code

_SQL = load("people")
_ACCESS = load("access")
_ANSWERS = load("answers")
_HIDING = load("hidden_ids")
_USERS = load("users")
_CHECKED_KEPT = 1_000
_MOST_KNOWN = 200
_MOST_MATCHING = 9
# The kinds that can create another credential.
_MAKERS = ("token", "session")


class SqlPeople:
    """Implements `ports.people.PeopleStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ids = SqlIds(engine)
        # Whether a session may show somebody who was erased: one that was at work then.
        self._may_show = True
        # People as last read; every change of one clears it.
        self._known: dict[str, Person] = {}
        for kind in ("people", "erasure"):
            engine.feed.on(kind, lambda _key: self._known.clear())

    async def find(self, platform: str, user_id: str) -> Person | None:
        """Return the person behind a channel id."""
        row = await self._engine.reads.row(_SQL["find"], platform_of(platform), user_id)
        return None if row is None else await self.get(str(row[0]))

    async def get(self, person_id: str) -> Person | None:
        """Return one person."""
        known, stamp = self._known.get(person_id), self._engine.feed.stamp
        if known is not None:
            return known
        row = await self._engine.reads.row(_SQL["get"], person_id)
        if row is None:
            return None
        person = Person(
            id=row[0],
            created_at=row[1],
            tier=row[2],
            may_train=bool(row[3]),
            is_erased=bool(row[4]),
        )
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        if stamp == self._engine.feed.stamp:
            self._known[person_id] = person
        return person

    async def matching(self, part: str) -> tuple[str, ...]:
        """Return some ids of people that begin or end with a part, the newest first."""
        return await self._ids.matching("person", part, limit=_MOST_MATCHING)

    async def balance(self, person_id: str) -> int:
        """Return the ledger's sum minus open holds."""
        rows = await self._engine.reads.rows(_SQL["balance"], person_id)
        return int(rows[0][0])

    async def erased(self, person_id: str) -> bool:
        """Return whether the person's data key was destroyed."""
        row = await self._engine.reads.row(_SQL["key"], person_id)
        return row is None

    async def set_consent(self, person_id: str, *, may_train: bool, at: float) -> bool:
        """Set whether a person's conversations may be trained on; False if unknown id."""

        async def unit(tx: Tx) -> bool:
            self._engine.feed.put(tx, "people", person_id)
            return await tx.changed(_SQL["consent"], person_id, may_train, at) == 1

        after = self._engine.feed.telling("people", person_id)
        return await self._engine.writer.run("consent", unit, after=after)

    async def erase(self, person_id: str, *, at: float, silent_since: float | None = None) -> None:
        """Destroy the person's data key: all their bodies become unreadable.

        With `silent_since`, raises `GuardFailed` if they are not silent since then any more.
        """

        async def unit(tx: Tx) -> None:
            if silent_since is not None:
                await _check_silent(tx, person_id, since=silent_since)
            erase_memory(tx, person_id)
            await hide_person(tx, person_id, sealer=self._engine.sealer, at=at)
            tx.put(_SQL["drop_key"], person_id)
            tx.put(_SQL["forget_writing"], person_id)
            tx.put(_SQL["forget_channels"], person_id)
            tx.put(_SQL["forget_caller_keys"], person_id)
            forget_code(tx, person_id)
            forget_codes(tx, person_id)
            forget_cron(tx, person_id)
            forget_chats(tx, person_id)
            await forget_overheard(tx, person_id)
            await forget_summaries(tx, person_id, sealer=self._engine.sealer)
            await drop_answers(tx, await tx.rows(_ANSWERS["of_person"], person_id))
            erase_responses(tx, person_id)
            erase_pushes(tx, person_id)
            await forget_reactions(tx, person_id)
            tx.put(_SQL["mark_erased"], person_id, at)
            self._engine.feed.put(tx, "erasure", person_id)

        self._may_show = True
        after = self._engine.feed.telling("erasure", person_id)
        await self._engine.writer.run("erase", unit, after=after)

    async def hide_erased(self, *, at: float) -> bool:
        """Hide erased people in sessions that were at work then; False if one still is."""
        if not self._may_show:
            return True
        self._may_show = False
        rows = await self._engine.reads.rows(_HIDING["erased_lanes"])
        for person_id in dict.fromkeys(str(one) for one, lane in rows if names_somebody(lane)):
            while (state := await self._hide(person_id, at=at)) == "more":
                pass
            self._may_show |= state == "busy"
        return not self._may_show

    async def _hide(self, person_id: str, *, at: float) -> HidingState:
        async def unit(tx: Tx) -> HidingState:
            self._engine.feed.put(tx, "erasure", person_id)
            return await hide_person(tx, person_id, sealer=self._engine.sealer, at=at)

        after = self._engine.feed.telling("erasure", person_id)
        return await self._engine.writer.run("hide", unit, after=after)


async def _check_silent(tx: Tx, person_id: str, *, since: float) -> None:
    if await tx.row(_USERS["silent"], since, 1, "", person_id) is None:
        raise GuardFailed(f"{person_id} has written meanwhile")


class SqlAccess:
    """Implements `ports.access.AccessStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # The results of `find`; every change of a credential clears it.
        self._known: dict[tuple[str, bytes], Credential] = {}
        engine.feed.on("access", lambda _key: self._known.clear())

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

    async def use_link(
        self, link: bytes, session: bytes, *, label: str, now: float, expires_at: float | None
    ) -> bool:
        """Use up a sign-in link and store the hash of its session: both, or neither."""

        async def unit(tx: Tx) -> bool:
            row = await tx.row(_ACCESS["find"], "signin", link, now)
            if row is None:
                return False
            new = Credential(
                id=credential_id(session),
                label=label,
                role="owner",
                created_at=now,
                expires_at=expires_at,
                digest=session,
                parent=_credential(row).parent,
            )
            tx.put(_ACCESS["use_once"], "signin", link, now)
            await _add(tx, "session", new)
            return True

        return await self._engine.writer.run("use_credential", self._told(unit), after=self._after)

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
    tx.put(_ACCESS["add"], *given)


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
        digest=bytes(row[0]),
        parent=None if row[5] is None else bytes(row[5]),
    )
