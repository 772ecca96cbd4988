"""Encryption at rest: bodies are encrypted with a data key per person, wrapped by the store key.

Erasing a person deletes their wrapped key. Rotating the store's key rewraps the data keys and
changes no body. Digests in the database are keyed, so they tell an outsider nothing.
"""

import hashlib
import os
from collections import OrderedDict

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hermes.errors import PersonErased, StoreError, StoreRejected
from hermes.graph.hasher import Hasher, keyed_hasher
from hermes.message.randomness import RandomBytes
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.queries import load

_SQL = load("people")
_NONCE = 12
# Each holds an expanded key of 2.5 kB; unwrapping one again costs microseconds.
_CACHED_KEYS = 200
_nonces = RandomBytes(_NONCE)


def make_store_keys() -> bytes:
    """Return the content of a new key file: the newest Fernet key on its first line."""
    return Fernet.generate_key() + b"\n"


def add_store_key(content: bytes) -> bytes:
    """Return the key file's content with a new first key; the old ones still decrypt."""
    return Fernet.generate_key() + b"\n" + content


def newest_store_key(content: bytes) -> bytes:
    """Return the key file's content with only its first key."""
    return content.split()[0] + b"\n"


def _opener(key_file: bytes) -> MultiFernet:
    keys = key_file.split()
    if not keys:
        raise StoreError("the store's key file is empty; restore it from a backup")
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError as error:
        raise StoreError(
            "the store's key file contains something that is not a key: each line is one, of 44 "
            "letters; restore it from a backup"
        ) from error


class Sealer:
    """Encrypts and decrypts bodies."""

    def __init__(self, key_file: bytes) -> None:
        self._wrap = _opener(key_file)
        self._digest_key = b""
        self._ciphers: OrderedDict[str, AESGCM] = OrderedDict()

    def use_keys(self, key_file: bytes) -> None:
        """Use another key file; it must also contain the old keys until a rewrap."""
        self._wrap = _opener(key_file)

    def load_digest_key(self, db: Database) -> None:
        """Load the database's digest key, creating it on the first start."""
        row = db.row(_SQL["digest_key"])
        if row is None:
            self._digest_key = os.urandom(32)
            db.execute(_SQL["set_digest_key"], (self._wrap.encrypt(self._digest_key),))
        else:
            self._digest_key = self._unwrap(row[0])

    def read_digest_key(self, db: Database) -> None:
        """Load the digest key of a database that is only read."""
        if db.row(_SQL["digest_key"]) is None:
            raise StoreError(
                "the database has lost the key of its digests, so nothing in it can be checked; "
                "put a backup in its place"
            )
        self.load_digest_key(db)

    def hasher(self) -> Hasher:
        """Return the hasher that names the messages of this database."""
        return keyed_hasher(self._digest_key)

    def digest(self, content: bytes) -> bytes:
        """Return a keyed digest of `content`."""
        return hashlib.blake2b(content, key=self._digest_key, digest_size=20).digest()

    def make_key(self, db: Database, person_id: str) -> None:
        """Create and store a person's data key; `forget_all` is called if that is undone."""
        key = os.urandom(32)
        db.execute(_SQL["add_key"], (person_id, self._wrap.encrypt(key)))
        self._keep(person_id, AESGCM(key))

    def seal(self, db: Database, person_id: str, content: bytes) -> bytes:
        """Return `content` encrypted with a person's key."""
        cipher = self._cipher(db, person_id)
        if cipher is None:
            raise PersonErased(f"person {person_id} was erased; nothing more can be kept for them")
        nonce = _nonces.take()
        return nonce + cipher.encrypt(nonce, content, person_id.encode())

    def put(self, db: Database, person_id: str, content: bytes) -> int:
        """Encrypt `content` for a person and return the body's id."""
        db.execute(_SQL["add_body"], (person_id, self.seal(db, person_id, content)))
        return db.last_insert_rowid()

    def put_blob(
        self, db: Database, person_id: str, content: bytes, *, graph: int, name: bytes
    ) -> int:
        """Encrypt a message of a graph for a person; return the id of the stored one."""
        sealed = self.seal(db, person_id, content)
        return int(db.one(_SQL["add_blob"], (person_id, sealed, graph, name)))

    def open(self, db: Database, person_id: str, sealed: bytes) -> bytes | None:
        """Return the content of an encrypted body, or None if the person was erased."""
        cipher = self._cipher(db, person_id)
        if cipher is None:
            return None
        try:
            return cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], person_id.encode())
        except (InvalidTag, TypeError, ValueError) as error:
            raise StoreError(
                f"a body of person {person_id} does not open: it was changed on disk, "
                "or the key file belongs to another database"
            ) from error

    def get(self, db: Database, body_id: int) -> bytes | None:
        """Return the content of a body by its id, or None if it is gone."""
        row = db.row(_SQL["body"], (body_id,))
        return None if row is None else self.open(db, row[0], row[1])

    def forget(self, person_id: str) -> None:
        """Drop a cached data key."""
        self._ciphers.pop(person_id, None)

    def forget_all(self) -> None:
        """Drop every cached data key: one of them may never have reached the disk."""
        self._ciphers.clear()

    def try_all(self, db: Database) -> int:
        """Decrypt every data key as a check; return how many there are."""
        rows = db.rows(_SQL["keys"])
        for _, wrapped in rows:
            self._unwrap(wrapped)
        return len(rows)

    def rewrap_digest_key(self, db: Database) -> None:
        """Wrap the key of the digests with the newest store key."""
        db.execute(_SQL["set_digest_key"], (self._wrap.encrypt(self._digest_key),))

    def rewrap_some(self, db: Database, after: str, *, limit: int) -> tuple[int, str]:
        """Wrap the next data keys with the newest store key; return how many, and the last."""
        rows = db.rows(_SQL["keys_after"], (after, limit))
        for person_id, wrapped in rows:
            try:
                db.execute(_SQL["rewrap"], (person_id, self._wrap.rotate(wrapped)))
            except InvalidToken as error:
                raise StoreRejected(
                    f"the key of person {person_id} opens with none of the store's keys, so the "
                    "old keys stay in the key file; restore the key file that was made with this "
                    "database"
                ) from error
        return len(rows), str(rows[-1][0]) if rows else after

    def _cipher(self, db: Database, person_id: str) -> AESGCM | None:
        cipher = self._ciphers.get(person_id)
        if cipher is not None:
            return cipher
        row = db.row(_SQL["key"], (person_id,))
        if row is None:
            return None
        cipher = AESGCM(self._unwrap(row[0]))
        self._keep(person_id, cipher)
        return cipher

    def _keep(self, person_id: str, cipher: AESGCM) -> None:
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
