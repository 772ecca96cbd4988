"""People and credentials: who is who, what they may spend, and which hashes are valid."""

from typing import Any

from hermes.errors import Unauthenticated
from hermes.ports.access import Credential, Role, credential_id
from hermes.ports.people import Person
from hermes.store.sqlite.answers import drop_answers
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.cron import forget_cron
from hermes.store.sqlite.directory import forget_chats
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.facts import SqliteFacts, erase_memory
from hermes.store.sqlite.group_context import forget_overheard
from hermes.store.sqlite.keys import SqliteKeys
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.souls import SqliteSouls
from hermes.store.sqlite.transcripts import SqliteTranscripts
from hermes.store.sqlite.users import forget_codes
from hermes.store.sqlite.wallet import forget_code

_SQL = load("people")
_ACCESS = load("access")
_ANSWERS = load("answers")
_CHECKED_KEPT = 1_000
_MOST_KNOWN = 200
# The kinds that can create another credential.
_MAKERS = ("token", "session")


class SqlitePeople:
    """Implements `ports.people.PeopleStore`."""

    def __init__(
        self,
        engine: Engine,
        *,
        transcripts: SqliteTranscripts,
        keys: SqliteKeys,
        facts: SqliteFacts,
        souls: SqliteSouls,
    ) -> None:
        self._engine = engine
        self._facts = facts
        self._souls = souls
        self._transcripts = transcripts
        self._keys = keys

    async def find(self, platform: str, user_id: str) -> Person | None:
        """Return the person behind a channel id."""
        row = self._engine.reader.row(_SQL["find"], (platform, user_id))
        return None if row is None else await self.get(str(row[0]))

    async def get(self, person_id: str) -> Person | None:
        """Return one person."""
        known = self._engine.known_people.get(person_id)
        if known is not None:
            return known
        row = self._engine.reader.row(_SQL["get"], (person_id,))
        if row is None:
            return None
        person = Person(
            id=row[0],
            created_at=row[1],
            tier=row[2],
            may_train=bool(row[3]),
            is_erased=bool(row[4]),
        )
        if len(self._engine.known_people) >= _MOST_KNOWN:
            self._engine.known_people.clear()
        self._engine.known_people[person_id] = person
        return person

    async def balance(self, person_id: str) -> int:
        """Return the ledger's sum minus open holds."""
        rows = self._engine.reader.rows(_SQL["balance"], (person_id,))
        return int(rows[0][0])

    def erased(self, person_id: str) -> bool:
        """Return whether the person's data key was destroyed."""
        row = self._engine.reader.row(_SQL["key"], (person_id,))
        return row is None

    async def set_consent(self, person_id: str, *, may_train: bool, at: float) -> bool:
        """Set whether a person's conversations may be trained on; False if unknown id."""

        def unit(db: Database) -> bool:
            db.execute(_SQL["consent"], (person_id, may_train, at))
            return db.changes() == 1

        def after(_changed: bool) -> None:
            self._engine.known_people.clear()

        return await self._engine.writer.run("consent", unit, after=after)

    async def erase(self, person_id: str, *, at: float) -> None:
        """Destroy the person's data key: all their bodies become unreadable."""

        def unit(db: Database) -> None:
            db.execute(_SQL["drop_key"], (person_id,))
            db.execute(_SQL["forget_writing"], (person_id,))
            db.execute(_SQL["forget_channels"], (person_id,))
            db.execute(_SQL["forget_caller_keys"], (person_id,))
            forget_code(db, person_id)
            forget_codes(db, person_id)
            erase_memory(db, person_id)
            forget_cron(db, person_id)
            forget_chats(db, person_id)
            forget_overheard(db, person_id)
            drop_answers(db, db.rows(_ANSWERS["of_person"], (person_id,)))
            db.execute(_SQL["mark_erased"], (person_id, at))

        def after(_: None) -> None:
            self._engine.sealer.forget(person_id)
            self._engine.known_people.clear()
            self._engine.fresh.clear()
            self._transcripts.forget()
            self._keys.forget()
            self._facts.forget(person_id)
            self._souls.forget()

        await self._engine.writer.run("erase", unit, after=after)


class SqliteAccess:
    """Implements `ports.access.AccessStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # The results of `find`. Only this class writes credentials, and every write clears it.
        self._known: dict[tuple[str, bytes], Credential] = {}

    async def add(
        self,
        kind: str,
        digest: bytes,
        *,
        label: str,
        expires_at: float | None,
        role: Role = "owner",
        parent: bytes | None = None,
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
        )

        def unit(db: Database) -> None:
            _add(db, kind, new)

        await self._engine.writer.run("add_credential", unit, after=self._forget)

    async def check(self, kind: str, digest: bytes, *, now: float) -> bool:
        """Return whether a credential is known and not expired."""
        return await self.find(kind, digest, now=now) is not None

    async def find(self, kind: str, digest: bytes, *, now: float) -> Credential | None:
        """Return a credential that is known and not expired."""
        found = self._known.get((kind, digest))
        if found is None:
            row = self._engine.reader.row(_ACCESS["find"], (kind, digest, now))
            if row is None:
                return None
            if len(self._known) >= _CHECKED_KEPT:
                self._known.clear()
            self._known[kind, digest] = found = _credential(row)
        expires_at = found.expires_at
        return found if expires_at is None or expires_at > now else None

    async def use_link(
        self, link: bytes, session: bytes, *, label: str, now: float, expires_at: float | None
    ) -> bool:
        """Use up a sign-in link and store the hash of its session: both, or neither."""

        def unit(db: Database) -> bool:
            row = db.row(_ACCESS["find"], ("signin", link, now))
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
            db.execute(_ACCESS["use_once"], ("signin", link, now))
            _add(db, "session", new)
            return True

        return await self._engine.writer.run("use_credential", unit, after=self._forget)

    async def list(self, kind: str) -> tuple[Credential, ...]:
        """Return every credential of a kind, newest first."""
        return tuple(_credential(row) for row in self._engine.reader.rows(_ACCESS["list"], (kind,)))

    async def revoke(self, credential: str) -> bool:
        """Revoke a token or session by its id, and every link and session made from it."""

        def unit(db: Database) -> bool:
            ended = [
                digest
                for kind in _MAKERS
                for digest in _digests(db, kind)
                if credential_id(digest) == credential
            ]
            for digest in ended:
                db.execute(_ACCESS["revoke"], (digest,))
            return bool(ended)

        return await self._engine.writer.run("revoke_credential", unit, after=self._forget)

    async def revoke_all(self, kind: str, *, keep: str = "") -> int:
        """Revoke every credential of a kind, with what was made from it; return how many."""

        def unit(db: Database) -> int:
            known = _digests(db, kind)
            ended = [digest for digest in known if credential_id(digest) != keep]
            for digest in set(known) - set(ended):
                # Its maker may end here: it then belongs to the token at the start, if there is
                # one.
                root = db.row(_ACCESS["root"], (digest,))
                db.execute(_ACCESS["move"], (digest, None if root is None else root[0]))
            for digest in ended:
                db.execute(_ACCESS["revoke"], (digest,))
            return len(ended)

        return await self._engine.writer.run("revoke_credentials", unit, after=self._forget)

    async def sign_out(self, digest: bytes) -> bool:
        """End one session and its unused links; sessions made from it stay."""

        def unit(db: Database) -> bool:
            return _end_session(db, digest)

        return await self._engine.writer.run("sign_out", unit, after=self._forget)

    async def touch(self, kind: str, digest: bytes, *, at: float) -> None:
        """Record when a credential was last used."""

        def unit(db: Database) -> None:
            db.execute(_ACCESS["touch"], (kind, digest, at))

        await self._engine.writer.run("touch_credential", unit, after=self._forget)

    def _forget(self, _result: object) -> None:
        self._known.clear()

    async def any(self, kind: str) -> bool:
        """Return whether a credential of this kind exists."""
        return self._engine.reader.row(_ACCESS["any"], (kind,)) is not None


def _add(db: Database, kind: str, new: Credential) -> None:
    """Add a credential that ends with its makers at the latest; raises `Unauthenticated`."""
    # Read in the same transaction: a token that is being revoked cannot sign in.
    now, parent = new.created_at, new.parent
    limits = () if parent is None else _ends_of_makers(db, kind, parent=parent, now=now)
    known = [one for one in (new.expires_at, *limits) if one is not None]
    ends_at = min(known, default=None)
    _trim(db, now)
    db.execute(_ACCESS["add"], (kind, new.digest, new.label, now, ends_at, new.role, parent))


def _digests(db: Database, kind: str) -> list[bytes]:
    return [bytes(row[0]) for row in db.rows(_ACCESS["list"], (kind,))]


def _ends_of_makers(
    db: Database, kind: str, *, parent: bytes, now: float
) -> tuple[float | None, ...]:
    """Return the expiry times that a new credential may not exceed; raises `Unauthenticated`."""
    maker = db.row(_ACCESS["maker"], (parent, now))
    if maker is None:
        raise Unauthenticated("The token or session that asks for this has ended.")
    if kind == "signin":
        return (maker[0],)
    root = db.row(_ACCESS["root"], (parent,))
    return () if root is None or kind != "session" else (root[1],)


def _trim(db: Database, now: float) -> None:
    """Delete what has ended; sessions made by an expired session pass to its maker."""
    for row in db.rows(_ACCESS["expired_sessions"], (now,)):
        _end_session(db, bytes(row[0]))
    db.execute(_ACCESS["trim"], (now,))


def _end_session(db: Database, digest: bytes) -> bool:
    """End one session and its unused links; the sessions it made pass to its maker."""
    db.execute(_ACCESS["drop_links_of"], (digest,))
    db.execute(_ACCESS["hand_on"], (digest,))
    db.execute(_ACCESS["drop"], ("session", digest))
    return db.changes() == 1


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
        digest=bytes(row[0]),
        parent=None if row[5] is None else bytes(row[5]),
    )
