"""Encryption at rest: bodies are encrypted with a data key per person, wrapped by the store key.

Each value is bound to its place: whoever can write to the file, but has no key, cannot put a value
into another row. Values of older databases are bound to their person alone, until `sealed_tables` binds them.

Erasing a person deletes their wrapped key. Rotating the store's key rewraps the data keys. Digests
in the database are keyed, so they tell an outsider nothing.
"""

import hashlib
import os
from collections import OrderedDict

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hermes.errors import PersonErased, StoreError, StoreRejected
from hermes.graph.hasher import Hasher, keyed_hasher
from hermes.store.sql.numbers import Numbers
from hermes.store.sql.places import NO_PLACE, Place, blob_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Reads, Row, Rows, Tx

_SQL = load("people")
_NONCE = 12
_KEY = 32
# Behind a data key: all that it encrypts is bound to its place. Older keys have nothing there.
_BOUND = b"\x01"
# Each holds an expanded key of 2.5 kB; unwrapping one again costs microseconds.
_CACHED_KEYS = 200
_encode = msgspec.msgpack.Encoder().encode


def make_store_keys() -> bytes:
    """Return the content of a new key file: the newest Fernet key on its first line."""
    return Fernet.generate_key() + b"\n"


def add_store_key(content: bytes) -> bytes:
    """Return the key file's content with a new first key; the old ones still decrypt."""
    return Fernet.generate_key() + b"\n" + content


def newest_store_key(content: bytes) -> bytes:
    """Return the key file's content with only its first key."""
    return content.split()[0] + b"\n"


class PersonCipher:
    """The data key of one person."""

    __slots__ = ("_aes", "_person_id", "is_bound")

    def __init__(self, person_id: str, key: bytes) -> None:
        self._person_id = person_id
        self._aes = AESGCM(key[:_KEY])
        self.is_bound = key[_KEY:] == _BOUND

    def encrypt(self, content: bytes, place: Place) -> bytes:
        """Return `content` encrypted for its place."""
        # Straight from the system: a buffer would be repeated by a copy of the running machine.
        nonce = os.urandom(_NONCE)
        return nonce + self._aes.encrypt(nonce, content, self._bond(place))

    def decrypt(self, sealed: bytes, place: Place) -> bytes:
        """Return the content of a value at its place; raises `InvalidTag`."""
        try:
            return self._aes.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._bond(place))
        except InvalidTag:
            if self.is_bound:
                raise
            return self._aes.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._bond(NO_PLACE))

    def bind(self, sealed: bytes, place: Place) -> bytes | None:
        """Return a value of an older database encrypted for its place; None if it is not one."""
        try:
            content = self._aes.decrypt(sealed[:_NONCE], sealed[_NONCE:], self._bond(NO_PLACE))
        except (InvalidTag, TypeError, ValueError):
            return None
        return self.encrypt(content, place)

    def _bond(self, place: Place) -> bytes:
        # A text is no list: the two kinds are never the same bytes.
        return _encode((self._person_id, place)) if place else self._person_id.encode()


def _opener(key_file: bytes) -> MultiFernet:
    keys = key_file.split()
    if not keys:
        raise StoreError("the store's key file is empty; put your copy of it there")
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError as error:
        raise StoreError(
            "the store's key file contains something that is not a key: each line is one, of 44 "
            "letters; put your copy of it there"
        ) from error


class Sealer:
    """Encrypts and decrypts bodies."""

    def __init__(self, key_file: bytes) -> None:
        self._wrap = _opener(key_file)
        self._digest_key = b""
        self._ciphers: OrderedDict[str, PersonCipher] = OrderedDict()
        # Counts what was dropped: a key that was read before is not cached after it.
        self._drops = 0
        self._bodies = Numbers()

    def apart(self) -> "Sealer":
        """Return one with the same keys and nothing cached, for a thread of its own that only reads."""
        other = Sealer.__new__(Sealer)
        other._wrap, other._digest_key = self._wrap, self._digest_key
        other._ciphers, other._drops, other._bodies = OrderedDict(), 0, Numbers()
        return other

    def use_keys(self, key_file: bytes) -> None:
        """Use another key file; it must also contain the old keys until a rewrap."""
        self._wrap = _opener(key_file)

    def make_digest_key(self) -> bytes:
        """Create the digest key of a new database; return it wrapped, to be stored."""
        self._digest_key = os.urandom(32)
        return self.wrapped_digest_key()

    def load_digest_key(self, wrapped: bytes) -> None:
        """Use the digest key of a database."""
        self._digest_key = self._unwrap(wrapped)

    def read_digest_key(self, db: Rows) -> None:
        """Load the digest key of a database that is only read."""
        row = db.row(_SQL["digest_key"])
        if row is None:
            raise StoreError(
                "the database has lost the key of its digests, so nothing in it can be checked; "
                "restore a backup with `hermes restore`"
            )
        self.load_digest_key(row[0])

    def wrapped_digest_key(self) -> bytes:
        """Return the digest key, wrapped with the newest store key."""
        return self._wrap.encrypt(self._digest_key)

    def number_bodies(self, last: int) -> None:
        """Give new bodies the numbers after `last`."""
        self._bodies.begin_after(last)

    def hasher(self) -> Hasher:
        """Return the hasher that names the messages of this database."""
        return keyed_hasher(self._digest_key)

    def digest(self, content: bytes) -> bytes:
        """Return a keyed digest of `content`."""
        return hashlib.blake2b(content, key=self._digest_key, digest_size=20).digest()

    def make_key(self, tx: Tx, person_id: str) -> None:
        """Create and store a person's data key; `forget_all` is called if that is undone."""
        key = os.urandom(_KEY) + _BOUND
        tx.put(_SQL["add_key"], person_id, self._wrap.encrypt(key))
        self._keep(person_id, PersonCipher(person_id, key))

    async def seal(self, db: Reads, person_id: str, content: bytes, *, place: Place) -> bytes:
        """Return `content` encrypted with a person's key, for its place."""
        cipher = self._ciphers.get(person_id) or await self._cipher(db, person_id)
        return _encrypt(cipher, person_id, content, place=place)

    async def put(
        self, tx: Tx, person_id: str, content: bytes, *, place: Place | None = None
    ) -> int:
        """Encrypt `content` for a person and return the body's id.

        Its place is its own row, unless it belongs to one row alone, which then has to be named
        again to read it.
        """
        cipher = self._ciphers.get(person_id) or await self._cipher(tx, person_id)
        body = self._bodies.take()
        sealed = _encrypt(cipher, person_id, content, place=place or blob_place(body))
        tx.put(_SQL["add_body"], body, person_id, sealed)
        return body

    async def put_blob(
        self, tx: Tx, person_id: str, content: bytes, *, graph: int, name: bytes
    ) -> None:
        """Encrypt a message of a graph for a person; the same message is kept once."""
        body = self._bodies.take()
        sealed = await self.seal(tx, person_id, content, place=blob_place(body))
        tx.put(_SQL["add_blob"], body, person_id, sealed, graph, name)

    def put_tools(self, tx: Tx, name: bytes, content: bytes) -> None:
        """Store tools that calls were given; they are nobody's and not encrypted."""
        tx.put(_SQL["add_tools"], self._bodies.take(), name, content)

    async def open(self, db: Reads, person_id: str, sealed: bytes, *, place: Place) -> bytes | None:
        """Return the content of an encrypted value, or None if the person was erased."""
        cipher = self._ciphers.get(person_id) or await self._cipher(db, person_id)
        return _decrypt(cipher, person_id, sealed, place=place)

    def open_at_once(
        self, db: Rows, person_id: str, sealed: bytes, *, place: Place
    ) -> bytes | None:
        """Do the same as `open` for code that reads plainly."""
        cipher = self._ciphers.get(person_id)
        if cipher is None:
            drops = self._drops
            cipher = self._found(person_id, db.row(_SQL["key"], (person_id,)), drops=drops)
        return _decrypt(cipher, person_id, sealed, place=place)

    async def get(
        self, db: Reads, body_id: int, *, owner: str, place: Place | None = None
    ) -> bytes | None:
        """Return the content of a body by its id, or None if it is gone.

        `owner` is the person of the row that refers to it; raises `StoreError` if it is another's.
        """
        row = await db.row(_SQL["body"], body_id)
        if row is None:
            return None
        _check_owner(row[0], owner)
        return await self.open(db, owner, row[1], place=place or blob_place(body_id))

    def get_at_once(
        self, db: Rows, body_id: int, *, owner: str, place: Place | None = None
    ) -> bytes | None:
        """Do the same as `get` for code that reads plainly."""
        row = db.row(_SQL["body"], (body_id,))
        if row is None:
            return None
        _check_owner(row[0], owner)
        return self.open_at_once(db, owner, row[1], place=place or blob_place(body_id))

    def forget(self, person_id: str) -> None:
        """Drop a cached data key."""
        self._drops += 1
        self._ciphers.pop(person_id, None)

    def forget_all(self) -> None:
        """Drop every cached data key: one of them may never have reached the disk."""
        self._drops += 1
        self._ciphers.clear()

    def try_all(self, db: Rows) -> int:
        """Decrypt every data key as a check; return how many there are."""
        rows = db.rows(_SQL["keys"])
        for _, wrapped in rows:
            self._unwrap(wrapped)
        return len(rows)

    def rewrap_digest_key(self, tx: Tx) -> None:
        """Wrap the key of the digests with the newest store key."""
        tx.put(_SQL["set_digest_key"], self.wrapped_digest_key())

    async def rewrap_some(self, tx: Tx, after: str, *, limit: int) -> tuple[int, str]:
        """Wrap the next data keys with the newest store key; return how many, and the last.

        From then on they open only what is bound to its place: `sealed_tables` has to be done before.
        """
        rows = await tx.rows(_SQL["keys_after"], after, limit)
        for person_id, wrapped in rows:
            try:
                key = self._wrap.decrypt(wrapped)[:_KEY] + _BOUND
                tx.put(_SQL["rewrap"], person_id, self._wrap.encrypt(key))
            except InvalidToken as error:
                raise StoreRejected(
                    f"the key of person {person_id} opens with none of the store's keys, so the "
                    "old keys stay in the key file; restore the key file that was made with this "
                    "database"
                ) from error
        return len(rows), str(rows[-1][0]) if rows else after

    async def cipher(self, db: Reads, person_id: str) -> PersonCipher | None:
        """Return the data key of a person, or None if the person was erased."""
        return self._ciphers.get(person_id) or await self._cipher(db, person_id)

    async def _cipher(self, db: Reads, person_id: str) -> PersonCipher | None:
        drops = self._drops
        return self._found(person_id, await db.row(_SQL["key"], person_id), drops=drops)

    def _found(self, person_id: str, row: Row | None, *, drops: int) -> PersonCipher | None:
        """Return the cipher of a key that was read; cached unless one was dropped meanwhile."""
        if row is None:
            return None
        cipher = PersonCipher(person_id, self._unwrap(row[0]))
        if drops == self._drops:
            self._keep(person_id, cipher)
        return cipher

    def _keep(self, person_id: str, cipher: PersonCipher) -> None:
        self._ciphers[person_id] = cipher
        if len(self._ciphers) > _CACHED_KEYS:
            self._ciphers.popitem(last=False)

    def _unwrap(self, wrapped: bytes) -> bytes:
        try:
            return self._wrap.decrypt(wrapped)
        except (InvalidToken, TypeError) as error:
            raise StoreError(
                "the key file does not open this database's keys; "
                "restore the key file that was made with it"
            ) from error


def _check_owner(found: str, owner: str) -> None:
    if found != owner:
        raise StoreError(
            f"a row of person {owner} refers to a body of person {found}: it was changed or moved on "
            "disk; `hermes graph verify` lists what else is damaged, `hermes restore` restores a backup"
        )


def _encrypt(cipher: PersonCipher | None, person_id: str, content: bytes, *, place: Place) -> bytes:
    if cipher is None:
        raise PersonErased(f"person {person_id} was erased; nothing more can be kept for them")
    return cipher.encrypt(content, place)


def _decrypt(
    cipher: PersonCipher | None, person_id: str, sealed: bytes, *, place: Place
) -> bytes | None:
    if cipher is None:
        return None
    try:
        return cipher.decrypt(sealed, place)
    except (InvalidTag, TypeError, ValueError) as error:
        raise StoreError(
            f"a body of person {person_id} does not open: it was changed or moved on disk, "
            "or the key file belongs to another database"
        ) from error
